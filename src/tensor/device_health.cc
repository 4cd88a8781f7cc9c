#include "tensor/device_health.h"

#include <mutex>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

struct Health {
  std::mutex mutex;
  std::string lost;
  std::function<void(const std::string&)> call;
};

Health& health() {
  static auto* one = new Health;  // never destroyed: threads may report at exit
  return *one;
}

}  // namespace

void report_lost_device(const std::string& why) {
  std::function<void(const std::string&)> call;
  {
    const std::lock_guard lock(health().mutex);
    if (!health().lost.empty()) return;
    health().lost = why;
    call = std::exchange(health().call, nullptr);
  }
  if (call) call(why);
}

std::string lost_device() {
  const std::lock_guard lock(health().mutex);
  return health().lost;
}

void when_device_is_lost(std::function<void(const std::string& why)> call) {
  std::string lost;
  {
    const std::lock_guard lock(health().mutex);
    lost = health().lost;
    if (lost.empty()) health().call = std::exchange(call, nullptr);
  }
  if (call && !lost.empty()) call(lost);
}

std::string gpu_memory_text(size_t wanted, Device device, std::span<const MemoryOfGpu> gpus) {
  const auto mib = [](size_t bytes) { return (bytes + (1u << 20) - 1) >> 20; };
  std::string own, others;
  for (const MemoryOfGpu& gpu : gpus) {
    if (gpu.device == device) {
      own = concat(", ", mib(gpu.free), " of ", mib(gpu.total), " MiB are free");
    } else if (gpu.free >= wanted) {
      others +=
          concat(others.empty() ? "give a stage to another GPU (--device NODE=cuda:N; " : ", ",
                 mib(gpu.free), " MiB are free on ", device_name(gpu.device));
    }
  }
  if (!others.empty()) others += "), or ";
  return concat(device_name(device), " has too little memory: ", mib(wanted),
                " MiB are needed next", own, "; ", others, "use --weights q8, a ",
                "smaller cache (--kv-mib) or fewer sequences a batch (--max-batch)");
}

void forget_lost_device() {
  const std::lock_guard lock(health().mutex);
  health().lost.clear();
  health().call = nullptr;
}

}  // namespace syrinx
