// Numbers in texts, with any standard library: libc++ has std::from_chars() of floating-point
// numbers since LLVM 20, so that of Debian 12, Debian 13 and older Macs lacks it.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace syrinx {

/// Whether the standard library has std::from_chars() for T.
template <typename T>
concept HasFromChars = requires(const char* text, T& out) {
  std::from_chars(text, text, out);
};

/// Parses as parse_number() does, by the C library in the "C" locale.
bool parse_by_strtod(std::string_view text, float& out);
bool parse_by_strtod(std::string_view text, double& out);

/// Parses all of `text` as std::from_chars() does: without spaces, a plus sign or a locale; takes
/// "inf" and "nan" for floating-point numbers. Returns false and leaves `out` alone if `text` is
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

/// Parses a floating-point number that has no exponent.
template <typename T>
bool parse_fixed(std::string_view text, T& out) {
  return text.find_first_of("eE") == std::string_view::npos && parse_number(text, out);
}

}  // namespace syrinx
