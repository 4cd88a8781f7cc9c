#include "server/request/audio_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "server/request/kept.h"

namespace syrinx {

AudioQueue::AudioQueue(int sample_rate_hz, std::function<void()> wake)
    : sample_rate_hz_(sample_rate_hz),
      wake_(std::move(wake)),
      most_s_(std::numeric_limits<double>::max()) {}

void AudioQueue::audio(std::span<const float> samples) {
  const std::lock_guard lock(mutex_);
  if (!wake_ || samples.empty()) return;
  if (first_audio_s_ == 0) first_audio_s_ = now_s();
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  wake_();
}

void AudioQueue::words(std::span<const WordMark> marks) {
  const std::lock_guard lock(mutex_);
  if (wake_) words_.insert(words_.end(), marks.begin(), marks.end());
}

void AudioQueue::finished(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = kept(outcome);
  if (wake_) wake_();
}

double AudioQueue::unread_s() const {
  const std::lock_guard lock(mutex_);
  const double unread_s =
      static_cast<double>(samples_.size() - begin_ + in_flight_) / sample_rate_hz_;
  return unread_s < most_s_ ? unread_s : std::numeric_limits<double>::max();
}

void AudioQueue::hold(double ahead_s) {
  const std::lock_guard lock(mutex_);
  most_s_ = ahead_s;
}

void AudioQueue::release() { hold(std::numeric_limits<double>::max()); }

double AudioQueue::first_audio_s() const {
  const std::lock_guard lock(mutex_);
  return first_audio_s_;
}

size_t AudioQueue::take(std::vector<float>& out, size_t most) {
  const std::lock_guard lock(mutex_);
  if (out.empty() && begin_ == 0 && most >= samples_.size()) {  // all: nothing is copied
    out.swap(samples_);
    in_flight_ += out.size();
    return out.size();
  }
  const size_t count = std::min(most, samples_.size() - begin_);
  const auto from = samples_.begin() + static_cast<std::ptrdiff_t>(begin_);
  out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(count));
  begin_ += count;
  in_flight_ += count;
  if (begin_ == samples_.size()) {
    samples_.clear();
    begin_ = 0;
  } else if (begin_ > (size_t{1} << 19)) {  // keeps the cost of moving the rest small
    samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(begin_));
    begin_ = 0;
  }
  return count;
}

void AudioQueue::take_words(std::vector<WordMark>& out) {
  const std::lock_guard lock(mutex_);
  out.insert(out.end(), words_.begin(), words_.end());
  words_.clear();
}

void AudioQueue::written(size_t samples) {
  const std::lock_guard lock(mutex_);
  in_flight_ -= std::min(in_flight_, samples);
}

std::optional<Outcome> AudioQueue::end() const {
  const std::lock_guard lock(mutex_);
  return samples_.size() == begin_ ? outcome_ : std::nullopt;
}

void AudioQueue::detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  samples_.clear();
  words_.clear();
  begin_ = in_flight_ = 0;
}

}  // namespace syrinx
