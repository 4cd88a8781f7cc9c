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

/// Returns the length of the longest prefix of `text` whose NFC (or NFD) later text cannot change.
size_t normal_prefix(std::string_view text);

/// Returns whether a code point is White_Space in Unicode.
bool is_space(char32_t code);
/// Returns whether \w of a regular expression matches: letters, marks, digits, connectors.
bool is_word(char32_t code);
/// Returns whether the general category is Lu, Ll, Lt, Lm or Lo.
bool is_letter(char32_t code);
/// Returns whether the general category is Lu.
bool is_upper(char32_t code);
/// Returns whether the general category is Ll.
bool is_lower(char32_t code);
/// Returns whether the general category is Nd.
bool is_digit(char32_t code);

/// The first letter of a general category: letter, mark, number, punctuation, symbol, separator.
/// kOther: control characters, unassigned code points.
enum class Category : uint8_t {
  kLetter,
  kMark,
  kNumber,
  kPunctuation,
  kSymbol,
  kSeparator,
  kOther
};
Category general_category(char32_t code);

/// Returns the capital of a letter, like Python's str.upper(): one letter, except for U+00DF.
std::string to_upper(char32_t code);
/// Returns the text in small letters, like Python's str.lower(). Each letter becomes one letter,
/// except U+0130; a sigma at the end of a word has its own form.
std::string to_lower(std::string_view text);

/// Returns the columns of a text in a terminal: 1 for a letter, 0 for a mark, 2 for an East Asian
/// character. Each error of invalid UTF-8 has one column.
size_t display_columns(std::string_view text);

}  // namespace syrinx
