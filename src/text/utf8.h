// UTF-8: checking, repairing and walking. All functions accept any bytes and never read past them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx {

/// One code point of a text and the bytes it takes there (1 to 4).
struct CodePoint {
  char32_t value = 0;
  uint32_t size = 1;
  bool valid = true;  ///< false: value is U+FFFD and size counts the bytes that it stands for
};

inline constexpr char32_t kReplacement = 0xfffd;

/// The code point at byte `at` < text.size(). For bytes that are no UTF-8, the longest beginning of
/// a valid sequence counts as one error, as Unicode recommends.
CodePoint utf8_at(std::string_view text, size_t at);

/// The code point that ends at byte `end` > 0 of valid text.
CodePoint utf8_before(std::string_view text, size_t end);

/// Where the first byte that is no UTF-8 lies; npos when all are well.
size_t utf8_error(std::string_view text);
/// Whether all of the text is valid UTF-8.
inline bool utf8_valid(std::string_view text) { return utf8_error(text) == text.npos; }

/// The text with every error replaced by U+FFFD.
std::string utf8_repair(std::string_view text);
/// The same with a U+FFFD for each byte of an error, as tokenizers with byte fallback decode.
std::string utf8_repair_bytes(std::string_view text);

/// Bytes at the end (0 to 3) that begin a valid sequence and wait for the rest of it.
size_t utf8_unfinished(std::string_view text);

/// Appends a code point; one that cannot be encoded becomes U+FFFD.
void utf8_append(std::string& text, char32_t code);

/// Number of code points; each error counts as one.
size_t utf8_count(std::string_view text);

}  // namespace syrinx
