#include "server/request/text_queue.h"

#include <utility>

#include "server/request/kept.h"

namespace syrinx {

void TextQueue::text(std::string_view piece, std::span<const ScoredToken> tokens) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  News& news = news_.back();
  news.text += piece;
  news.tokens.insert(news.tokens.end(), tokens.begin(), tokens.end());
  if (!news.empty()) wake_();
}

void TextQueue::answer_ids(std::span<const int32_t> ids) {
  const std::lock_guard lock(mutex_);
  if (wake_) news_.back().ids.insert(news_.back().ids.end(), ids.begin(), ids.end());
}

void TextQueue::finished(const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  news_.back().outcome = kept(outcome);
  if (wake_) wake_();
}

void TextQueue::part() {
  const std::lock_guard lock(mutex_);
  if (wake_) news_.emplace_back();
}

TextQueue::News TextQueue::take() {
  const std::lock_guard lock(mutex_);
  if (news_.size() > 1) {
    News news = std::move(news_.front());
    news_.pop_front();
    return news;
  }
  if (news_.back().empty()) return {};  // ids wait for what they belong to
  return std::exchange(news_.back(), {});
}

void TextQueue::detach() {
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  while (news_.size() > 1) news_.pop_front();
  news_.back() = {};
}

}  // namespace syrinx
