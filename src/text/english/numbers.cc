#include "text/english/numbers.h"

#include <array>

#include "text/english/chars.h"

namespace syrinx::english {
namespace {

constexpr std::array<std::string_view, 20> kOnes = {
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> kTens = {
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"};

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
  constexpr std::array<Scale, 5> kScales = {{{1'000'000'000'000'000, "quadrillion"},
                                             {1'000'000'000'000, "trillion"},
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

std::string cardinal(int64_t n) {
  std::string out;
  add_cardinal(out, n);
  return out;
}

/// Returns whether a number is read as two pairs of digits: 1100 .. 1999 and 2010 .. 2099.
bool said_by_halves(int64_t n) { return (n >= 1100 && n < 2000) || (n >= 2010 && n < 2100); }

std::string words_of(std::string_view text, bool years) {
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
  const bool plain = dot == std::string_view::npos && written.size() == 4;
  if (whole.size() > 15 || (whole.size() > 1 && whole[0] == '0')) {
    add(out, digit_words(whole));
  } else if (!whole.empty()) {
    const int64_t value = value_of(whole);
    add(out, years && plain && said_by_halves(value) ? pair_words(whole) : cardinal(value));
  }
  if (dot != std::string_view::npos) {
    add(out, "point");
    add(out, digit_words(text.substr(dot + 1)));
  }
  return out;
}

/// Returns the last word of a number as an ordinal: "two" -> "second", "twenty" -> "twentieth".
std::string ordinal_of(std::string_view word) {
  struct Form {
    std::string_view number, ordinal;
  };
  constexpr std::array kForms = std::to_array<Form>({{"one", "first"},
                                                     {"two", "second"},
                                                     {"three", "third"},
                                                     {"five", "fifth"},
                                                     {"eight", "eighth"},
                                                     {"nine", "ninth"},
                                                     {"twelve", "twelfth"}});
  for (const Form& form : kForms) {
    if (word == form.number) return std::string(form.ordinal);
  }
  if (word.ends_with('y')) return std::string(word.substr(0, word.size() - 1)) + "ieth";
  return std::string(word) + "th";
}

}  // namespace

size_t number_length(std::string_view text) {
  const auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  size_t i = at(0) == '-' || at(0) == '+' ? 1 : 0;
  const size_t first = i;
  while (is_digit(at(i))) ++i;
  if (i > first && i <= first + 3) {  // "1,234,567"; but "1,2" is a list
    const auto group = [&](size_t g) {
      return at(g) == ',' && is_digit(at(g + 1)) && is_digit(at(g + 2)) && is_digit(at(g + 3)) &&
             !is_digit(at(g + 4));
    };
    while (group(i)) i += 4;
  }
  if (at(i) == '.' && is_digit(at(i + 1))) {
    ++i;
    while (is_digit(at(i))) ++i;
  }
  return i > first ? i : 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && number_length(text) == text.size();
}

bool is_digits(std::string_view text, size_t least, size_t most) {
  return text.size() >= least && text.size() <= most && all(text, is_digit);
}

int64_t value_of(std::string_view digits) {
  int64_t value = 0;
  for (const char c : digits.substr(0, 18)) value = value * 10 + (c - '0');
  return value;
}

std::string cardinal_words(std::string_view number) { return words_of(number, false); }
std::string number_words(std::string_view number) { return words_of(number, true); }

std::string digit_words(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (is_digit(c)) add(out, kOnes[c - '0']);
  }
  return out;
}

std::string pair_words(std::string_view digits) {
  if (!is_digits(digits, 3, 4)) return cardinal_words(digits);
  if (digits[0] == '0') return digit_words(digits);
  const int64_t n = value_of(digits);
  if (n % 1000 == 0) return cardinal(n);
  std::string out = cardinal(n / 100);
  const int64_t rest = n % 100;
  if (rest == 0) {
    add(out, "hundred");
  } else if (rest < 10) {
    add(out, "oh");
    add(out, kOnes[rest]);
  } else {
    add_below_thousand(out, rest);
  }
  return out;
}

std::string ordinal_words(int64_t n) {
  const std::string words = cardinal(n);
  const size_t space = words.rfind(' ');
  const size_t last = space == std::string::npos ? 0 : space + 1;
  return words.substr(0, last) + ordinal_of(std::string_view(words).substr(last));
}

std::string decade_words(int64_t n) {
  std::string words =
      n >= 1100 && (n < 2000 || n % 100 != 0) ? pair_words(std::to_string(n)) : cardinal(n);
  if (!words.ends_with('y')) return words + "s";
  words.pop_back();
  return words + "ies";
}

std::string fraction_words(int64_t top, int64_t bottom) {
  std::string out = cardinal(top);
  if (bottom == 2) {
    add(out, top == 1 ? "half" : "halves");
  } else if (bottom == 4) {
    add(out, top == 1 ? "quarter" : "quarters");
  } else if (bottom > 2 && bottom <= 1000 && top < bottom) {
    add(out, ordinal_words(bottom) + (top == 1 ? "" : "s"));
  } else {
    add(out, "over");
    add_cardinal(out, bottom);
  }
  return out;
}

}  // namespace syrinx::english
