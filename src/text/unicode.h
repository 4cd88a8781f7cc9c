// What the text room needs to know of Unicode's tables (from utf8proc): normal forms, spaces,
// words. Texts are valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx {

enum class NormalForm : uint8_t { kNone, kNfc, kNfd, kNfkc, kNfkd };

/// The text in a normal form.
std::string normalize(std::string_view text, NormalForm form);

/// Length of the longest beginning of `text` whose NFC (or NFD) no later text can change.
size_t normal_prefix(std::string_view text);

/// White_Space as Unicode defines it.
bool is_space(char32_t code);
/// What regular expressions call \w: letters, marks, decimal digits, connectors.
bool is_word(char32_t code);
/// General categories Lu, Ll, Lt, Lm and Lo.
bool is_letter(char32_t code);
/// General category Lu.
bool is_upper(char32_t code);
/// General category Ll.
bool is_lower(char32_t code);
/// General category Nd.
bool is_digit(char32_t code);

/// Returns a letter as a capital, as Python's str.upper(): one letter but for U+00DF.
std::string to_upper(char32_t code);
/// The text in small letters, as Python's str.lower(): one letter each but for U+0130, and a sigma
/// that ends a word has its own form.
std::string to_lower(std::string_view text);

/// Columns that a text takes where letters have one: marks have none, East Asian characters two.
/// Bytes that are no UTF-8 take one for each error.
size_t display_columns(std::string_view text);

}  // namespace syrinx
