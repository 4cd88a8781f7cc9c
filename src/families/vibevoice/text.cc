#include "families/vibevoice/text.h"

#include <algorithm>

#include "base/check.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::vibevoice {
namespace {

/// Returns whether a character is white space for Python's str.strip().
bool is_stripped(char32_t code) { return is_space(code) || (code >= 0x1c && code <= 0x1f); }

/// Returns a character as the authors' demo passes it to the tokenizer: with straight quotes.
std::string_view straight(char32_t code, std::string_view written) {
  if (code == 0x2019) return "'";
  if (code == 0x201c || code == 0x201d) return "\"";
  return written;
}

bool ends_sentence(std::string_view bytes) {
  while (!bytes.empty() && (bytes.back() == '"' || bytes.back() == '\'' || bytes.back() == ')')) {
    bytes.remove_suffix(1);
  }
  return bytes.ends_with('.') || bytes.ends_with('!') || bytes.ends_with('?') ||
         bytes.ends_with('\n') || bytes.ends_with("\u3002") || bytes.ends_with("\uff01") ||
         bytes.ends_with("\uff1f");
}

}  // namespace

TextWindows::TextWindows(const Tokenizer& tokenizer, int64_t most_ids)
    : tokenizer_(tokenizer), encoder_(tokenizer, false), most_ids_(most_ids) {}

void TextWindows::push(std::string_view text, bool last) {
  std::string all = unfinished_ + std::string(text);
  const size_t held = last ? 0 : utf8_unfinished(all);
  unfinished_ = all.substr(all.size() - held);
  all.resize(all.size() - held);
  std::string ready;
  for (size_t at = 0; at < all.size();) {
    const CodePoint code = utf8_at(all, at);
    const std::string_view written = std::string_view(all).substr(at, code.size);
    at += code.size;
    if (is_stripped(code.value)) {
      if (!blank_) spaces_ += written;
      continue;
    }
    blank_ = false;
    ready += spaces_;
    ready += straight(code.value, written);
    spaces_.clear();
  }
  encode(ready);
  if (!last) return;
  closed_ = true;
  end_part();
}

void TextWindows::encode(std::string_view text) {
  std::vector<int32_t> ids;
  encoder_.push(text, ids);
  add(ids);
}

/// Adds final ids to the last part. If the part may end after them, the next id begins a new part.
void TextWindows::add(const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (full_) {
      const std::vector<int32_t> line = tokenizer_.encode("\n", false);
      parts_.back().ids.insert(parts_.back().ids.end(), line.begin(), line.end());
      parts_.back().complete = true;
      parts_.emplace_back();
    }
    Part& last = parts_.back();
    last.ids.push_back(id);
    const int64_t count = last.taken + std::ssize(last.ids);
    full_ =
        count >= most_ids_ || (count >= most_ids_ * 3 / 4 && ends_sentence(tokenizer_.bytes(id)));
  }
}

void TextWindows::end_part() {
  std::vector<int32_t> ids;
  if (!blank_) encoder_.push("\n", ids);
  encoder_.finish(ids);
  if (std::ssize(ids) == 1) full_ = false;  // a single new line does not form a part
  add(ids);
  parts_.back().complete = true;
}

bool TextWindows::ready() const {
  const Part& now = part();
  return std::ssize(now.ids) >= kWindow || (now.complete && !now.ids.empty());
}

std::vector<int32_t> TextWindows::take() {
  Part& now = parts_.front();
  SYRINX_CHECK(ready(), "no window of ids is complete");
  const auto count = std::min<int64_t>(kWindow, std::ssize(now.ids));
  std::vector<int32_t> window(now.ids.begin(), now.ids.begin() + count);
  now.ids.erase(now.ids.begin(), now.ids.begin() + count);
  now.taken += count;
  return window;
}

bool TextWindows::next_part() {
  if (parts_.size() < 2) return false;
  parts_.pop_front();
  return true;
}

}  // namespace syrinx::vibevoice
