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

std::string gpu_memory_text(size_t wanted, size_t free, size_t total) {
  const auto mib = [](size_t bytes) { return (bytes + (1u << 20) - 1) >> 20; };
  return concat("the GPU has too little memory: ", mib(wanted), " MiB are needed next, ", mib(free),
                " of ", mib(total), " MiB are free; use --weights q8, a ",
                "smaller cache (--kv-mib) or fewer sequences a batch (--max-batch)");
}

void forget_lost_device() {
  const std::lock_guard lock(health().mutex);
  health().lost.clear();
  health().call = nullptr;
}

}  // namespace syrinx
