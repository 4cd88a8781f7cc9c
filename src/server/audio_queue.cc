#include "server/audio_queue.h"

#include <algorithm>
#include <utility>

#include "audio/wav.h"

namespace syrinx {

AudioQueue::AudioQueue(int sample_rate_hz, std::function<void()> wake)
    : sample_rate_hz_(sample_rate_hz), wake_(std::move(wake)) {}

void AudioQueue::audio(std::span<const float> samples) {
  const std::lock_guard lock(mutex_);
  if (!wake_ || samples.empty()) return;
  append_s16(samples, bytes_);
  wake_();
}

void AudioQueue::finished(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = outcome;
  if (wake_) wake_();
}

double AudioQueue::unread_s() const {
  const std::lock_guard lock(mutex_);
  return static_cast<double>(bytes_.size() - begin_ + in_flight_) / 2 / sample_rate_hz_;
}

size_t AudioQueue::take(std::string& out, size_t max_bytes) {
  const std::lock_guard lock(mutex_);
  const size_t count = std::min(max_bytes, bytes_.size() - begin_);
  out.append(bytes_, begin_, count);
  begin_ += count;
  in_flight_ += count;
  if (begin_ == bytes_.size()) {
    bytes_.clear();
    begin_ = 0;
  } else if (begin_ > (size_t{1} << 20)) {  // keeps the cost of moving the rest small
    bytes_.erase(0, begin_);
    begin_ = 0;
  }
  return count;
}

void AudioQueue::written(size_t bytes) {
  const std::lock_guard lock(mutex_);
  in_flight_ -= std::min(in_flight_, bytes);
}

std::optional<Outcome> AudioQueue::end() const {
  const std::lock_guard lock(mutex_);
  return bytes_.size() == begin_ ? outcome_ : std::nullopt;
}

void AudioQueue::detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  bytes_.clear();
  begin_ = in_flight_ = 0;
}

}  // namespace syrinx
