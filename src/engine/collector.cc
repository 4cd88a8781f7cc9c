#include "engine/collector.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace syrinx {

struct Collector::Impl {
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::vector<float> samples;
  size_t taken = 0;
  bool done = false;
  Outcome outcome;
};

Collector::Collector() : impl_(std::make_unique<Impl>()) {}
Collector::~Collector() = default;

void Collector::audio(std::span<const float> samples) {
  std::lock_guard lock(impl_->mutex);
  impl_->samples.insert(impl_->samples.end(), samples.begin(), samples.end());
  impl_->changed.notify_all();
}

void Collector::finished(const Outcome& outcome) {
  std::lock_guard lock(impl_->mutex);
  impl_->outcome = outcome;
  impl_->done = true;
  impl_->changed.notify_all();
}

const Outcome& Collector::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return impl_->done; });
  return impl_->outcome;
}

const std::vector<float>& Collector::samples() const { return impl_->samples; }

std::vector<float> Collector::next(double timeout_s) {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, std::chrono::duration<double>(timeout_s),
                          [&] { return impl_->done || impl_->taken < impl_->samples.size(); });
  std::vector<float> fresh(impl_->samples.begin() + static_cast<std::ptrdiff_t>(impl_->taken),
                           impl_->samples.end());
  impl_->taken = impl_->samples.size();
  return fresh;
}

bool Collector::done() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->done && impl_->taken == impl_->samples.size();
}

}  // namespace syrinx
