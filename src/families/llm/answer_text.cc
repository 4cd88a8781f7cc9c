#include "families/llm/answer_text.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx::llm {
namespace {

/// Returns the length of the longest end of `text` that is a proper prefix of `stop`.
size_t begun(std::string_view text, std::string_view stop) {
  for (size_t size = std::min(text.size(), stop.size() - 1); size > 0; --size)
    if (text.ends_with(stop.substr(0, size))) return size;
  return 0;
}

}  // namespace

std::string AnswerText::tell(size_t size) {
  std::string out = waiting_.substr(0, size);
  waiting_.erase(0, size);
  told_ += static_cast<int64_t>(size);
  return out;
}

std::string AnswerText::repaired(std::string_view bytes) const {
  return spells_bytes_ ? utf8_repair_bytes(bytes) : utf8_repair(bytes);
}

std::string AnswerText::push(std::string_view bytes) {
  if (stopped_) return {};
  if (drops_blank_ && !bytes.empty()) {
    if (bytes.front() == ' ') bytes.remove_prefix(1);
    drops_blank_ = false;
  }
  bytes_ += bytes;
  const size_t whole = bytes_.size() - utf8_unfinished(bytes_);
  waiting_ += repaired(std::string_view(bytes_).substr(0, whole));
  bytes_.erase(0, whole);
  size_t stop = waiting_.npos, held = 0;
  for (const std::string& each : stops_) {
    stop = std::min(stop, waiting_.find(each));
    held = std::max(held, begun(waiting_, each));
  }
  if (stop == waiting_.npos) return tell(waiting_.size() - held);
  stopped_ = true;
  std::string out = tell(stop);
  waiting_.clear();
  return out;
}

std::string AnswerText::finish() {
  if (stopped_) return {};
  waiting_ += repaired(bytes_);
  bytes_.clear();
  return tell(waiting_.size());
}

}  // namespace syrinx::llm
