#include "families/finch/numbers.h"

#include <array>
#include <cstdint>

namespace syrinx::finch {
namespace {

constexpr std::array<std::string_view, 20> kOnes = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};

void add(std::string& out, std::string_view word) {
  if (!out.empty()) out += ' ';
  out += word;
}

void add_below_thousand(std::string& out, int64_t n) {
  if (n >= 100) {
    add(out, kOnes[n / 100]);
    add(out, "hundred");
    n %= 100;
    if (n == 0) return;
  }
  if (n >= 20) {
    add(out, kTens[n / 10]);
    if (n % 10 != 0) add(out, kOnes[n % 10]);
  } else {
    add(out, kOnes[n]);
  }
}

void add_cardinal(std::string& out, int64_t n) {
  struct Scale {
    int64_t value;
    std::string_view name;
  };
  constexpr std::array<Scale, 4> kScales = {{{1'000'000'000'000, "trillion"},
                                             {1'000'000'000, "billion"},
                                             {1'000'000, "million"},
                                             {1'000, "thousand"}}};
  const bool none = n == 0;
  for (const auto& scale : kScales) {
    if (n < scale.value) continue;
    add_below_thousand(out, n / scale.value);
    add(out, scale.name);
    n %= scale.value;
  }
  if (n > 0 || none) add_below_thousand(out, n);
}

void add_digits(std::string& out, std::string_view digits) {
  for (const char c : digits) add(out, kOnes[c - '0']);
}

/// 1100 .. 1999 and 2010 .. 2099 by halves; the century alone in hundreds.
bool add_year(std::string& out, int64_t n) {
  const bool halves = (n >= 1100 && n < 2000) || (n >= 2010 && n < 2100);
  if (!halves) return false;
  add_below_thousand(out, n / 100);
  if (n % 100 == 0) {
    add(out, "hundred");
  } else if (n % 100 < 10) {
    add(out, "oh");
    add(out, kOnes[n % 100]);
  } else {
    add_below_thousand(out, n % 100);
  }
  return true;
}

}  // namespace

std::string number_words(std::string_view text) {
  std::string out;
  if (text.starts_with('-')) add(out, "minus");
  if (text.starts_with('+')) add(out, "plus");
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  const size_t dot = text.find('.');
  const std::string_view written = text.substr(0, dot);
  std::string whole;
  for (const char c : written) {
    if (c != ',') whole += c;
  }
  const bool year_like = dot == std::string_view::npos && written.size() == 4;
  if (whole.size() > 15 || (whole.size() > 1 && whole[0] == '0')) {
    add_digits(out, whole);
  } else {
    const int64_t value = std::stoll(whole);
    if (!year_like || !add_year(out, value)) add_cardinal(out, value);
  }
  if (dot != std::string_view::npos) {
    add(out, "point");
    add_digits(out, text.substr(dot + 1));
  }
  return out;
}

}  // namespace syrinx::finch
