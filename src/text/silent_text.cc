#include "text/silent_text.h"

#include "text/segment_queue.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {

TextContent content_of(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    at += code.size;
    const Category kind = general_category(code.value);
    if (!code.valid || kind == Category::kLetter || kind == Category::kNumber) {
      return TextContent::kWords;
    }
  }
  return is_blank(text) ? TextContent::kBlank : TextContent::kSigns;
}

bool is_nothing_to_say(const Error& error) {
  const Error nothing = nothing_to_say();
  return error.code == nothing.code && error.message.starts_with(nothing.message);
}

}  // namespace syrinx
