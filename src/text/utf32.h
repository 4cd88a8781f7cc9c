// Texts as code points. Header only.
#pragma once

#include <string>
#include <string_view>

#include "text/utf8.h"

namespace syrinx {

/// Returns the code points of UTF-8.
inline std::u32string utf32_of(std::string_view text) {
  std::u32string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_at(text, at);
    out += c.value;
    at += c.size;
  }
  return out;
}

/// Returns code points in UTF-8.
inline std::string utf8_of(std::u32string_view text) {
  std::string out;
  for (const char32_t c : text) utf8_append(out, c);
  return out;
}

}  // namespace syrinx
