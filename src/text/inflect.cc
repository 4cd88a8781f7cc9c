#include "text/inflect.h"

#include <algorithm>
#include <array>
#include <string>

namespace syrinx {
namespace {

constexpr std::array<const char*, 20> kInflectOnes{
    "zero",     "one",     "two",     "three",     "four",     "five",    "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<const char*, 10> kInflectTens{"",      "",      "twenty",  "thirty", "forty",
                                                   "fifty", "sixty", "seventy", "eighty", "ninety"};
constexpr std::array<const char*, 12> kInflectThousands{"",
                                                        " thousand",
                                                        " million",
                                                        " billion",
                                                        " trillion",
                                                        " quadrillion",
                                                        " quintillion",
                                                        " sextillion",
                                                        " septillion",
                                                        " octillion",
                                                        " nonillion",
                                                        " decillion"};

std::string words_below_hundred(int n) {
  if (n < 20) return kInflectOnes[n];
  std::string words = kInflectTens[n / 10];
  if (n % 10 != 0) words.append("-").append(kInflectOnes[n % 10]);
  return words;
}

/// Returns the words of 1 to 999. `joint`: the text between the hundreds and the rest.
std::string words_below_thousand(int n, const char* joint) {
  if (n < 100) return words_below_hundred(n);
  const std::string hundreds = std::string(kInflectOnes[n / 100]) + " hundred";
  return n % 100 ? hundreds + joint + words_below_hundred(n % 100) : hundreds;
}

std::string_view without_zeros(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == digits.npos ? digits.substr(0, 0) : digits.substr(first);
}

}  // namespace

// Writes groups of three digits with commas between them, but no comma before a last group below
// 100. If `with_and`, writes "and" before such a group and after hundreds.
std::string inflect_number(std::string_view digits, bool with_and) {
  digits = without_zeros(digits);
  if (digits.empty()) return kInflectOnes[0];
  std::string out;
  if (digits.size() > 3 * kInflectThousands.size()) {
    for (const char c : digits) out.append(out.empty() ? "" : " ").append(kInflectOnes[c - '0']);
    return out;
  }
  const char* joint = with_and ? " and " : " ";
  const size_t groups = (digits.size() + 2) / 3;
  for (size_t g = groups; g-- > 0;) {
    const size_t end = digits.size() - 3 * g, begin = end > 3 ? end - 3 : 0;
    const int value = std::stoi(std::string(digits.substr(begin, end - begin)));
    if (value == 0) continue;
    if (!out.empty()) out += g == 0 && value < 100 ? joint : ", ";
    out += words_below_thousand(value, joint) + kInflectThousands[g];
  }
  return out;
}

std::string inflect_numbers(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = std::min(text.find_first_of(kDigits, at), text.size());
    const size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    out += text.substr(at, begin - at);
    if (end > begin) out += inflect_number(text.substr(begin, end - begin));
    at = end;
  }
  return out;
}

}  // namespace syrinx
