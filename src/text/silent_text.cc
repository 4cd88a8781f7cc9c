#include "text/silent_text.h"

#include "text/segment_queue.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {

bool has_words(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    at += code.size;
    const Category kind = general_category(code.value);
    if (!code.valid || kind == Category::kLetter || kind == Category::kNumber) return true;
  }
  return false;
}

bool may_be_silent(std::string_view text, const Error& error) {
  const Error nothing = nothing_to_say();
  return error.code == nothing.code && error.message.starts_with(nothing.message) &&
         !is_blank(text) && !has_words(text);
}

}  // namespace syrinx
