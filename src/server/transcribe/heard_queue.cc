#include "server/transcribe/heard_queue.h"

#include <utility>

namespace syrinx {

HeardQueue::HeardQueue(std::function<void()> wake) : wake_(std::move(wake)) {}

void HeardQueue::partial(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  news_.partial = text;
  wake_();
}

void HeardQueue::segment(const TranscriptSegment& segment) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  news_.segments.push_back(segment);
  news_.partial.reset();
  wake_();
}

void HeardQueue::heard(double seconds) {
  const std::lock_guard lock(mutex_);
  heard_s_ = seconds;
  if (wake_) wake_();
}

void HeardQueue::finished(Result<Transcript> transcript) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  news_.result = std::move(transcript);
  wake_();
}

HeardQueue::News HeardQueue::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

double HeardQueue::heard_s() const {
  const std::lock_guard lock(mutex_);
  return heard_s_;
}

void HeardQueue::detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  news_ = {};
}

}  // namespace syrinx
