#include "server/request/text_queue.h"

#include <utility>

#include "server/request/kept.h"

namespace syrinx {

void TextQueue::text(std::string_view piece, std::span<const ScoredToken> tokens) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  news_.text += piece;
  news_.tokens.insert(news_.tokens.end(), tokens.begin(), tokens.end());
  if (!news_.empty()) wake_();
}

void TextQueue::answer_ids(std::span<const int32_t> ids) {
  const std::lock_guard lock(mutex_);
  if (wake_) news_.ids.insert(news_.ids.end(), ids.begin(), ids.end());
}

void TextQueue::finished(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  news_.outcome = kept(outcome);
  if (wake_) wake_();
}

TextQueue::News TextQueue::take() {
  const std::lock_guard lock(mutex_);
  if (news_.empty()) return {};  // ids wait for what they belong to
  return std::exchange(news_, {});
}

void TextQueue::detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  news_ = {};
}

}  // namespace syrinx
