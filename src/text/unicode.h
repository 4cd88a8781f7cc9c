// Functions on Unicode's tables (from utf8proc): normal forms, spaces, words. Texts are valid
// UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx {

enum class NormalForm : uint8_t { kNone, kNfc, kNfd, kNfkc, kNfkd };

/// Returns the text in a normal form.
std::string normalize(std::string_view text, NormalForm form);

/// Returns the length of the longest prefix of `text` whose NFC (or NFD) no later text can change.
size_t normal_prefix(std::string_view text);

/// Returns whether a code point is White_Space in Unicode.
bool is_space(char32_t code);
/// Returns whether \w matches: letters, marks, decimal digits, connectors.
bool is_word(char32_t code);
/// Returns whether the general category is Lu, Ll, Lt, Lm or Lo.
bool is_letter(char32_t code);
/// Returns whether the general category is Lu.
bool is_upper(char32_t code);
/// Returns whether the general category is Ll.
bool is_lower(char32_t code);
/// Returns whether the general category is Nd.
bool is_digit(char32_t code);

/// Returns a letter as a capital, like Python's str.upper(): one letter, except for U+00DF.
std::string to_upper(char32_t code);
/// Returns the text in small letters, like Python's str.lower(): one letter each, except for
/// U+0130; a sigma that ends a word has its own form.
std::string to_lower(std::string_view text);

/// Returns the columns of a text in a terminal: a letter takes one, a mark none, an East Asian
/// character two. Invalid UTF-8 takes one column for each error.
size_t display_columns(std::string_view text);

}  // namespace syrinx
