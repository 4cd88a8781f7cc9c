// Parses numbers with any standard library. libc++ has std::from_chars() for floating-point numbers
// only since LLVM 20, so Debian 12, Debian 13 and older Macs lack it.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace syrinx {

/// Whether the standard library has std::from_chars() for T.
template <typename T>
concept HasFromChars = requires(const char* text, T& out) {
  std::from_chars(text, text, out);
};

/// Parses like parse_number(), with the C library in the "C" locale.
bool parse_by_strtod(std::string_view text, float& out);
bool parse_by_strtod(std::string_view text, double& out);

/// Parses all of `text` like std::from_chars(): without spaces, a plus sign or a locale. Accepts
/// "inf" and "nan" for floating-point numbers. Returns false and does not change `out` if `text` is
/// not a number or is out of T's range.
template <typename T>
bool parse_number(std::string_view text, T& out) {
  if constexpr (HasFromChars<T>) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, fault] = std::from_chars(text.data(), end, value);
    if (fault != std::errc() || stop != end) return false;
    out = value;
    return true;
  } else {
    return parse_by_strtod(text, out);
  }
}

/// Parses the number at the beginning of `text` like parse_number(), and removes it from `text`.
/// The number ends before the first character that is not a digit, a sign, a period or the letter
/// e.
template <typename T>
bool take_number(std::string_view& text, T& out) {
  const size_t end = std::min(text.find_first_not_of("+-.0123456789eE"), text.size());
  if (!parse_number(text.substr(0, end), out)) return false;
  text.remove_prefix(end);
  return true;
}

/// Parses a floating-point number without an exponent.
template <typename T>
bool parse_fixed(std::string_view text, T& out) {
  return text.find_first_of("eE") == std::string_view::npos && parse_number(text, out);
}

}  // namespace syrinx
