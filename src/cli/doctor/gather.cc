#include "cli/doctor/gather.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "audio/decode_helper.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/speak/player.h"
#include "ears/pocketsphinx.h"
#include "ears/voice_activity.h"
#include "engine/collector.h"
#include "families/kokoro/jieba.h"
#include "io/certificates.h"
#include "io/file.h"
#include "io/program.h"
#include "kernels/cpu/gemm_sets.h"
#include "nn/weights_cache.h"
#include "runtime/runtime.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

/// Reads a file of /proc to its end, as such files report no size. Empty if the file is missing.
std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// Returns the name of the first processor, from a line "model name : X".
std::string processor_name() {
  const std::string text = text_of("/proc/cpuinfo");
  const size_t line = text.find("model name");
  if (line == std::string::npos) return "";
  const size_t colon = text.find(": ", line);
  return colon == std::string::npos ? "" : first_line(std::string_view(text).substr(colon + 2));
}

void speak(MachineFacts& facts) {
  try {
    const auto engine = load_engine({});
    warm_up(*engine, 1);
    SpeechRequest request;
    request.say.text = "Good morning. This machine speaks, and reports its speed.";
    const auto heard = std::make_shared<Collector>();
    if (const auto id = engine->submit(request, heard); !id) {
      facts.voice_fault = id.error().message;
      return;
    }
    const Outcome& outcome = heard->wait();
    facts.voice_fault = outcome.error.message;
    facts.audio_s = outcome.audio_s;
    facts.total_s = outcome.total_s;
  } catch (const std::exception& error) {
    facts.voice_fault = error.what();
  }
}

/// Returns the message of the exception that open() throws, or an empty string.
template <typename Open>
std::string fault_of(Open&& open) {
  try {
    open();
    return "";
  } catch (const LoadError& error) {
    return error.what();
  }
}

/// Returns why a socket cannot listen on the address; an empty string if it can.
std::string listen_fault(int family, const sockaddr* address, socklen_t size) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::strerror(errno);
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  std::string fault;
  if (::bind(fd, address, size) != 0 || ::listen(fd, 1) != 0) fault = std::strerror(errno);
  ::close(fd);
  return fault;
}

void ask_ports(MachineFacts& facts) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<uint16_t>(facts.port));
  four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  facts.port_fault = listen_fault(AF_INET, reinterpret_cast<sockaddr*>(&four), sizeof four);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_addr = in6addr_loopback;
  facts.ipv6 = listen_fault(AF_INET6, reinterpret_cast<sockaddr*>(&six), sizeof six).empty();
}

/// Checks whether the cache folder, or its nearest parent that exists, can be written.
void ask_cache(MachineFacts& facts) {
  facts.cache = default_weights_cache();
  if (facts.cache.empty()) return;
  std::error_code none;
  std::filesystem::path place = facts.cache;
  while (!std::filesystem::exists(place, none) && place.has_relative_path())
    place = place.parent_path();
  if (::access(place.c_str(), W_OK) != 0) facts.cache_fault = std::strerror(errno);
  struct statvfs disk {};
  if (::statvfs(place.c_str(), &disk) == 0) {
    facts.cache_free_bytes =
        static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
  }
}

}  // namespace

std::string os_release_value(std::string_view text, std::string_view name) {
  for (size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (!line.starts_with(name) || !line.substr(name.size()).starts_with('=')) continue;
    std::string value(line.substr(name.size() + 1));
    std::erase(value, '"');
    return value;
  }
  return "";
}

std::string mecab_dictionary(std::string_view printed) {
  const auto value = [&](std::string_view name) -> std::string {
    const size_t at = printed.find(name);
    return at == printed.npos ? "" : first_line(printed.substr(at + name.size()));
  };
  const std::string file = value("filename:\t");
  return file.empty() ? "" : concat(file, ", ", value("charset:\t"));
}

MachineFacts gather_facts(int port) {
  MachineFacts facts;
  try {  // forks the helper before this process starts threads, as the server does
    const DecodeHelper helper;
    facts.confined = helper.filtered();
    facts.confinement = helper.confinement();
  } catch (const LoadError& error) {
    facts.confinement_fault = error.what();
  }
  facts.distribution = os_release_value(text_of("/etc/os-release"), "ID");
  facts.processor = processor_name();
  facts.cores = usable_cores();
  facts.kernels = cpu::gemm_set().name;
  facts.memory_bytes = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  facts.free_bytes = available_memory();
  ask_cache(facts);
  facts.gpu_fault = device_missing(Device::kCuda);
  if (facts.gpu_fault.empty()) facts.gpus = gpu_names();
  facts.gpu_driver = first_line(text_of("/proc/driver/nvidia/version"));
  if (const auto told = run_program({"espeak-ng", "--version"}, ""))
    facts.espeak = first_line(told.value());
  // `mecab -D` exits with code 1, so the shell replaces its exit code.
  if (const auto printed = run_program({"sh", "-c", "mecab -D; exit 0"}, "")) {
    facts.mecab = mecab_dictionary(printed.value());
  }
  std::error_code none;
  const std::string jieba = kokoro::jieba_folder();
  if (std::filesystem::exists(join_path(jieba, "dict.txt"), none)) facts.jieba = jieba;
  facts.pocketsphinx_fault = fault_of([] { open_pocketsphinx(); });
  facts.detector_fault = fault_of([] { open_webrtc_activity(2); });
  facts.player = find_player().value_or("");
  facts.port = port;
  ask_ports(facts);
  facts.certificates = system_certificates();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    facts.open_files = static_cast<int64_t>(limit.rlim_cur);
  speak(facts);
  return facts;
}

}  // namespace syrinx
