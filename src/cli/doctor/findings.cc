#include "cli/doctor/findings.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/check.h"
#include "io/file.h"
#include "tensor/tensor.h"

namespace syrinx {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
/// Below this memory the report warns. The server with the built-in voice needs a tenth of it.
constexpr int64_t kLittleMemory = kGiB;
/// Below this limit of open files the report warns. Each listener needs one, libraries a few dozen.
constexpr int64_t kFewFiles = 512;
constexpr int64_t kLittleDisk = 2 * kGiB;

std::string tenths(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string bytes_text(int64_t bytes) { return size_text(static_cast<uint64_t>(bytes)); }

/// Returns the install command on Debian and its derivatives, elsewhere the Debian packages' names.
std::string debian_command(std::string_view distribution, std::string_view packages) {
  const std::string command = install_command(distribution, packages);
  return command.starts_with("apt ") ? command : install_command("", packages);
}

Finding voice(const MachineFacts& facts) {
  if (!facts.voice_fault.empty()) {
    return {"voice", Health::kBroken, "the built-in voice cannot speak: " + facts.voice_fault,
            "install Syrinx again, with its folder of voices"};
  }
  const double times = facts.total_s > 0 ? facts.audio_s / facts.total_s : 0;
  const bool fast = times >= 1;
  return {"voice", fast ? Health::kGood : Health::kLimited,
          concat("the built-in voice works, ", tenths(times), " times as fast as real time"),
          fast ? "" : "this machine is too slow or too busy for speech without gaps"};
}

Finding processor(const MachineFacts& facts) {
  const bool portable = facts.kernels == "portable";
  return {"processor", portable ? Health::kLimited : Health::kGood,
          concat(facts.processor.empty() ? "" : facts.processor + ", ", facts.cores,
                 facts.cores == 1 ? " core" : " cores", ", instruction set ", facts.kernels),
          portable ? "kernels need AVX2 or NEON to be fast; large models will be slow" : ""};
}

Finding memory(const MachineFacts& facts) {
  if (!facts.free_bytes) {
    return {"memory", Health::kLimited,
            concat(bytes_text(facts.memory_bytes), ", free memory is not known"),
            "mount /proc; without it a model that exceeds the memory ends the program"};
  }
  const bool little = *facts.free_bytes < kLittleMemory;
  return {"memory", little ? Health::kLimited : Health::kGood,
          concat(bytes_text(*facts.free_bytes), " free of ", bytes_text(facts.memory_bytes)),
          little ? "enough for the built-in voice; `syrinx inspect MODEL` reports what others need"
                 : ""};
}

Finding gpu(const MachineFacts& facts) {
  if (facts.gpu_fault.empty()) {
    std::string names;
    for (size_t i = 0; i < facts.gpus.size(); ++i)
      names += concat(i == 0 ? "" : ", ", device_name(Device::gpu(static_cast<int>(i))), " is ",
                      facts.gpus[i]);
    return {"GPU", Health::kGood, names, ""};
  }
  if (facts.gpu_driver.empty()) return {"GPU", Health::kMissing, "none: " + facts.gpu_fault, ""};
  return {"GPU", Health::kLimited,
          concat("driver ", facts.gpu_driver, ", but no GPU is used: ", facts.gpu_fault),
          "a GPU needs -DSYRINX_CUDA=ON and compute capability 8.0 (docs/guide/operations.md)"};
}

Finding phonemes(const MachineFacts& facts) {
  if (!facts.espeak.empty()) return {"espeak-ng", Health::kGood, facts.espeak, ""};
  return {"espeak-ng", Health::kMissing, "Piper, Zonos and Kokoro in most languages need espeak-ng",
          install_command(facts.distribution, "espeak-ng")};
}

Finding japanese(const MachineFacts& facts) {
  const std::string packages = "mecab mecab-ipadic-utf8";
  if (facts.mecab.empty()) {
    return {"mecab", Health::kMissing, "Kokoro in Japanese needs mecab and a dictionary",
            debian_command(facts.distribution, packages)};
  }
  const bool utf8 = facts.mecab.ends_with("UTF-8") || facts.mecab.ends_with("utf8");
  return {
      "mecab", utf8 ? Health::kGood : Health::kLimited, facts.mecab,
      utf8 ? ""
           : "Kokoro needs a dictionary in UTF-8: " + debian_command(facts.distribution, packages)};
}

Finding chinese(const MachineFacts& facts) {
  if (!facts.jieba.empty()) return {"jieba", Health::kGood, facts.jieba, ""};
  return {
      "jieba", Health::kMissing, "Kokoro in Chinese needs jieba's files",
      debian_command(facts.distribution, "python3-jieba") + ", or set SYRINX_JIEBA to the folder"};
}

Finding ears(const MachineFacts& facts) {
  if (facts.pocketsphinx_fault.empty() && facts.detector_fault.empty()) {
    return {"ears", Health::kGood, "PocketSphinx and the voice detector are installed", ""};
  }
  const bool debian = install_command(facts.distribution, "").starts_with("apt ");
  const std::string way = debian ? install_command(facts.distribution,
                                                   "libpocketsphinx3 pocketsphinx-en-us "
                                                   "libwebrtc-audio-processing1 (in Debian 13 "
                                                   "libwebrtc-audio-processing-1-3; newer "
                                                   "systems have libpocketsphinx5)") +
                                       ", or "
                                 : "";
  return {"ears", Health::kMissing,
          facts.pocketsphinx_fault.empty() ? facts.detector_fault : facts.pocketsphinx_fault,
          way + "use a Whisper model instead (docs/guide/recognition.md)"};
}

Finding player(const MachineFacts& facts) {
  if (!facts.player.empty()) return {"player", Health::kGood, facts.player, ""};
  return {"player", Health::kMissing, "`syrinx say` without -o writes speech.wav",
          install_command(facts.distribution, "alsa-utils")};
}

Finding ports(const MachineFacts& facts) {
  const std::string also = facts.ipv6 ? ", IPv6 is there" : ", no IPv6";
  if (facts.port_fault.empty()) {
    return {"port", Health::kGood, concat(facts.port, " is free", also), ""};
  }
  return {"port", Health::kLimited, concat(facts.port, ": ", facts.port_fault, also),
          "choose another port with `syrinx serve --port`"};
}

Finding certificates(const MachineFacts& facts) {
  if (!facts.certificates.empty()) return {"certificates", Health::kGood, facts.certificates, ""};
  return {"certificates", Health::kMissing, "`syrinx hub pull` cannot verify https",
          install_command(facts.distribution, "ca-certificates")};
}

Finding files(const MachineFacts& facts) {
  const bool few = facts.open_files < kFewFiles;
  return {"open files", few ? Health::kLimited : Health::kGood,
          concat("at most ", facts.open_files), few ? "ulimit -n 4096 allows more clients" : ""};
}

Finding recordings(const MachineFacts& facts) {
  if (!facts.confinement_fault.empty())
    return {"recordings", Health::kLimited, facts.confinement_fault,
            "`syrinx serve` starts only with --decode-in-server"};
  return {"recordings", facts.confined ? Health::kGood : Health::kLimited,
          concat("decoded under ", facts.confinement), ""};
}

Finding cache(const MachineFacts& facts) {
  if (facts.cache.empty()) {
    return {"packed weights", Health::kLimited,
            "not stored: neither HOME nor XDG_CACHE_HOME is set",
            "--weights-cache DIR stores them, so that large models start faster"};
  }
  if (!facts.cache_fault.empty()) {
    return {"packed weights", Health::kLimited, concat(facts.cache, ": ", facts.cache_fault),
            "choose another folder with --weights-cache DIR"};
  }
  const bool little = facts.cache_free_bytes < kLittleDisk;
  return {"packed weights", little ? Health::kLimited : Health::kGood,
          concat(facts.cache, ", ", bytes_text(facts.cache_free_bytes), " free"),
          little ? "packed weights are stored only if 2 GiB stay free" : ""};
}

}  // namespace

const char* health_name(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kLimited:
      return "limited";
    case Health::kMissing:
      return "missing";
    case Health::kBroken:
      return "broken";
  }
  return "?";
}

std::string install_command(std::string_view distribution, std::string_view packages) {
  struct Manager {
    std::string_view distribution, command;
  };
  static constexpr Manager kManagers[] = {{"debian", "apt install "},
                                          {"ubuntu", "apt install "},
                                          {"linuxmint", "apt install "},
                                          {"fedora", "dnf install "},
                                          {"rhel", "dnf install "},
                                          {"rocky", "dnf install "},
                                          {"arch", "pacman -S "},
                                          {"manjaro", "pacman -S "},
                                          {"alpine", "apk add "},
                                          {"raspbian", "apt install "},
                                          {"opensuse-tumbleweed", "zypper install "}};
  for (const Manager& each : kManagers) {
    if (each.distribution == distribution) return concat(each.command, packages);
  }
  return concat("install the Debian packages ", packages);
}

std::vector<Finding> examine(const MachineFacts& facts) {
  return {voice(facts),  processor(facts), memory(facts),     cache(facts),       gpu(facts),
          player(facts), phonemes(facts),  japanese(facts),   chinese(facts),     ears(facts),
          ports(facts),  files(facts),     recordings(facts), certificates(facts)};
}

}  // namespace syrinx
