#include "text/segment_queue.h"

#include <vector>

namespace syrinx {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\v\f") == text.npos; }

Error nothing_to_say() {
  return {ErrorCode::kInvalid, "the text contains nothing to speak", "input"};
}

Error text_is_complete() {
  return {ErrorCode::kInvalid, "the request's text has ended, so text cannot be added", "input"};
}

SegmentQueue::SegmentQueue(size_t max_bytes, bool open, size_t short_chars)
    : sentences_({.max_chars = max_bytes, .min_chars = open ? short_chars : 0}),
      max_bytes_(max_bytes),
      grouped_(!open) {}

void SegmentQueue::push(std::string_view text, bool last) {
  std::vector<SentenceStream::Item> items;
  sentences_.push(text, items);
  if (last) sentences_.finish(items);
  open_ = open_ && !last;
  for (SentenceStream::Item& item : items) waiting_.push_back(std::move(item));
}

std::string SegmentQueue::next() {
  std::string text;
  while (!waiting_.empty()) {
    const std::string& more = waiting_.front().text;
    if (waiting_.front().place.hidden) {
      if (!text.empty()) break;
      waiting_.pop_front();
      continue;
    }
    const bool fits = grouped_ && text.size() + more.size() <= max_bytes_;
    if (!is_blank(text) && !fits && !is_blank(more)) break;
    if (text.empty()) begin_ = static_cast<int64_t>(waiting_.front().place.begin);
    text += more;
    waiting_.pop_front();
  }
  return is_blank(text) ? "" : text;
}

}  // namespace syrinx
