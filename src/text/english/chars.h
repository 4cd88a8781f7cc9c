// Characters and small string tools of the English reader; for text/english only.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::english {

/// The bytes that fold() writes for signs outside ASCII: one byte for each sign, never a letter.
inline constexpr char kEuro = 1, kPound = 2, kYen = 3, kRupee = 4, kWon = 5, kRuble = 6, kCent = 7;
inline constexpr char kEnDash = 0x1E, kPause = 0x1F;  ///< kPause: em dash, bullet, bar of a table
inline constexpr std::string_view kDashes = "-\x1E";
inline constexpr char kDegree = '\xB0', kTimes = '\xD7';
inline constexpr char kMicro = '\xB5';  ///< the micro sign before a unit: "5 µs"
inline constexpr char kDot = '\xB7';    ///< the dot between the letters of a unit: "kW·h"

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Returns whether the character is an ASCII capital.
inline bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
/// Returns whether the character is an ASCII small letter.
inline bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
/// Returns whether the character is an ASCII letter.
inline bool is_letter(char c) { return is_upper(c) || is_lower(c); }
/// Returns whether the character is an ASCII letter or digit.
inline bool is_alnum(char c) { return is_letter(c) || is_digit(c); }
/// Returns whether the character is a currency sign: one of those above or in currencies.cc.
inline bool is_currency_sign(char c) {
  const auto code = static_cast<unsigned char>(c);
  return c == '$' || (c >= kEuro && c <= kCent) || (code >= 0x80 && code <= 0x9F);
}
/// Returns whether the character is a hexadecimal digit of either case.
inline bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
/// Returns the capital of an ASCII small letter; other characters unchanged.
inline char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 32) : c; }

/// Returns whether `test` returns true for every character; false for an empty text.
inline bool all(std::string_view text, bool (*test)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}
/// Returns whether `test` returns true for at least one character.
inline bool any(std::string_view text, bool (*test)(char)) {
  return std::any_of(text.begin(), text.end(), test);
}

/// Returns the text with ASCII capitals as small letters.
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = is_upper(c) ? static_cast<char>(c + 32) : c;
  return out;
}

/// Appends one or several words after a space; appends nothing for "".
inline void add(std::string& out, std::string_view words) {
  if (words.empty()) return;
  if (!out.empty()) out += ' ';
  out += words;
}

/// Returns the parts between the separators `at`, also empty parts; the parts are views of text.
inline std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// Returns whether `list`, in which each word has a space on both sides, contains the word. Returns
/// false for a word that contains a space.
inline bool listed(std::string_view list, std::string_view word) {
  if (word.empty() || word.find(' ') != word.npos) return false;
  for (size_t at = list.find(word); at != list.npos; at = list.find(word, at + 1)) {
    if (list[at - 1] == ' ' && list[at + word.size()] == ' ') return true;
  }
  return false;
}

}  // namespace syrinx::english
