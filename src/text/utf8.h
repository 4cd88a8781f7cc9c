// Checks, repairs and iterates UTF-8. All functions accept any bytes and never read past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx {

/// One code point of a text, and its size of 1 to 4 bytes.
struct CodePoint {
  char32_t value = 0;
  uint32_t size = 1;
  bool valid = true;  ///< if false, value is U+FFFD and size is the number of invalid bytes
};

inline constexpr char32_t kReplacement = 0xfffd;

/// Returns the code point at byte `at` < text.size(). In invalid UTF-8, the longest prefix of a
/// valid sequence counts as one error, as Unicode recommends.
CodePoint utf8_at(std::string_view text, size_t at);

/// Returns the code point that ends at byte `end` > 0 of valid text.
CodePoint utf8_before(std::string_view text, size_t end);

/// Returns the position of the first invalid byte; npos if all bytes are valid.
size_t utf8_error(std::string_view text);
/// Returns whether all of the text is valid UTF-8.
inline bool utf8_valid(std::string_view text) { return utf8_error(text) == text.npos; }

/// Returns the text with every error replaced by U+FFFD.
std::string utf8_repair(std::string_view text);
/// Returns the text with U+FFFD for each byte of an error, as tokenizers with byte fallback do.
std::string utf8_repair_bytes(std::string_view text);

/// Returns the size of an incomplete but valid sequence at the end of the text: 0 to 3 bytes.
size_t utf8_unfinished(std::string_view text);

/// Appends a code point; an invalid one becomes U+FFFD.
void utf8_append(std::string& text, char32_t code);

/// Returns the number of code points; each error counts as one.
size_t utf8_count(std::string_view text);

}  // namespace syrinx
