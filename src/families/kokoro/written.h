// Chinese and Japanese text as characters. Each character has its bytes in the request, even after
// numbers and widths were rewritten. Free functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/utf32.h"

namespace syrinx::kokoro {

/// A character, and its bytes [begin, end) in the request's text.
struct Written {
  char32_t c = 0;
  int64_t begin = 0, end = 0;
};

/// Splits UTF-8 into characters. Its first byte is byte `offset` of the request's text. An invalid
/// byte becomes U+FFFD, and a control character becomes a space.
std::vector<Written> written(std::string_view text, int64_t offset);

/// Returns the characters in UTF-8.
std::string utf8_of(std::span<const Written> text);
using syrinx::utf8_of;

/// Returns whether a character is one of a set.
inline bool is_one_of(char32_t c, std::u32string_view set) { return set.find(c) != set.npos; }
/// Returns whether a character is an ASCII digit or its full-width form.
bool is_any_digit(char32_t c);
/// Returns the value of a digit, 0 to 9.
int digit_value(char32_t c);

/// Appends `words`, which replace the characters of `source`. `source` must not be empty.
void append(std::vector<Written>& out, std::u32string_view words, std::span<const Written> source);

}  // namespace syrinx::kokoro
