#include "server/request/text_queue.h"

#include <utility>

#include "server/request/kept.h"

namespace syrinx {

void TextQueue::text(std::string_view piece, std::span<const ScoredToken> tokens) {
  box_.fill([&](Parts& parts) {
    News& news = parts.back();
    news.text += piece;
    news.tokens.insert(news.tokens.end(), tokens.begin(), tokens.end());
    return !news.empty();
  });
}

void TextQueue::answer_ids(std::span<const int32_t> ids) {
  box_.fill([&](Parts& parts) {
    parts.back().ids.insert(parts.back().ids.end(), ids.begin(), ids.end());
    return false;
  });
}

void TextQueue::finished(const Outcome& outcome) {
  box_.settle([&](Parts& parts) {
    parts.back().outcome = kept(outcome);
    return true;
  });
}

void TextQueue::part() {
  box_.fill([](Parts& parts) {
    parts.emplace_back();
    return false;
  });
}

TextQueue::News TextQueue::take() {
  return box_.with([](Parts& parts) -> News {
    if (parts.size() > 1) {
      News news = std::move(parts.front());
      parts.pop_front();
      return news;
    }
    if (parts.back().empty()) return {};  // ids are delivered with their text
    return std::exchange(parts.back(), {});
  });
}

void TextQueue::detach() {
  box_.close([](Parts& parts) {
    while (parts.size() > 1) parts.pop_front();
    parts.back() = {};
  });
}

}  // namespace syrinx
