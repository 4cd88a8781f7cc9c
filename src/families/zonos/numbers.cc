#include "families/zonos/numbers.h"

#include <array>
#include <functional>
#include <vector>

#include "text/inflect.h"

namespace syrinx::zonos {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

/// Returns the digits without leading zeros.
std::string_view significant(std::string_view digits) {
  const size_t first = digits.find_first_not_of('0');
  return first == digits.npos ? digits.substr(0, 0) : digits.substr(first);
}

std::string ordinal(std::string_view digits) {
  std::string words = inflect_number(digits);
  const size_t at = words.find_last_of(" -") + 1;  // 0 if `words` is a single word
  const std::string last = words.substr(at);
  constexpr std::array<std::pair<const char*, const char*>, 7> kOdd{{{"one", "first"},
                                                                     {"two", "second"},
                                                                     {"three", "third"},
                                                                     {"five", "fifth"},
                                                                     {"eight", "eighth"},
                                                                     {"nine", "ninth"},
                                                                     {"twelve", "twelfth"}}};
  for (const auto& [from, to] : kOdd) {
    if (last == from) return words.substr(0, at) + to;
  }
  if (last.ends_with('y')) return words.substr(0, words.size() - 1) + "ieth";
  if (last == "zero") return words.substr(0, at) + "zeroth";
  return words + "th";
}

/// Returns the words of a four-digit number that is read in pairs, like a year: "nineteen oh five".
std::string pairs(int n) {
  const auto pair = [](int two) -> std::string {
    if (two == 0) return "oh oh";
    return (two < 10 ? "oh " : "") + inflect_number(std::to_string(two));
  };
  return pair(n / 100) + " " + pair(n % 100);
}

std::string plain_number(std::string_view digits) {
  const std::string_view kept = significant(digits);
  const int n = kept.size() == 4 ? std::stoi(std::string(kept)) : 0;
  if (n <= 1000 || n >= 3000) return inflect_number(digits, false);
  if (n == 2000) return "two thousand";
  if (n > 2000 && n < 2010) return "two thousand " + inflect_number(std::to_string(n % 100));
  if (n % 100 == 0) return inflect_number(std::to_string(n / 100)) + " hundred";
  return pairs(n);
}

/// A match of a rule: the number of matched bytes, and their replacement.
struct Match {
  size_t size = 0;  // 0: the rule does not match
  std::string words;
};
using Rule = std::function<Match(std::string_view rest)>;

/// Applies a rule in one pass over the text, at every position that is not in an earlier match.
std::string replaced(std::string_view text, const Rule& rule) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Match match = rule(text.substr(at));
    if (match.size > 0) {
      out += match.words;
      at += match.size;
    } else {
      out += text[at++];
    }
  }
  return out;
}

size_t run_of(std::string_view text, const char* more) {
  size_t n = 0;
  while (n < text.size() && (digit(text[n]) || std::string_view(more).find(text[n]) != text.npos)) {
    ++n;
  }
  return n;
}

/// Matches [0-9][0-9,]+[0-9] and removes the commas.
Match commas(std::string_view rest) {
  if (!digit(rest[0])) return {};
  size_t n = run_of(rest, ",");
  while (n > 0 && !digit(rest[n - 1])) --n;
  if (n < 3) return {};
  Match match{n, {}};
  for (const char c : rest.substr(0, n)) {
    if (c != ',') match.words += c;
  }
  return match;
}

/// Replaces matches of £[0-9,]*[0-9]+.
Match pounds(std::string_view rest) {
  constexpr std::string_view kSign = "\xc2\xa3";
  if (!rest.starts_with(kSign)) return {};
  size_t n = run_of(rest.substr(kSign.size()), ",");
  while (n > 0 && !digit(rest[kSign.size() + n - 1])) --n;
  if (n == 0) return {};
  return {kSign.size() + n, std::string(rest.substr(kSign.size(), n)) + " pounds"};
}

std::string amount(std::string_view number, const char* one, const char* more) {
  const std::string_view kept = significant(number);
  return std::string(kept) + " " + (kept == "1" ? one : more);
}

/// Replaces matches of $[0-9.,]*[0-9]+.
Match dollars(std::string_view rest) {
  if (rest[0] != '$') return {};
  size_t n = run_of(rest.substr(1), ".,");
  while (n > 0 && !digit(rest[n])) --n;
  if (n == 0) return {};
  const std::string_view number = rest.substr(1, n);
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= number.size();) {
    const size_t end = std::min(number.find('.', begin), number.size());
    parts.push_back(number.substr(begin, end - begin));
    begin = end + 1;
  }
  // If commas are left that are not between digits, the text is not an amount.
  const bool odd = parts.size() > 2 || number.find(',') != number.npos;
  if (odd) return {n + 1, std::string(number) + " dollars"};
  const bool whole = !significant(parts[0]).empty();
  const bool cents = parts.size() > 1 && !significant(parts[1]).empty();
  const std::string first = whole ? amount(parts[0], "dollar", "dollars") : "";
  const std::string second = cents ? amount(parts[1], "cent", "cents") : "";
  if (!whole && !cents) return {n + 1, "zero dollars"};
  return {n + 1, first + (whole && cents ? ", " : "") + second};
}

/// Replaces matches of [0-9]+\.[0-9]+.
Match decimals(std::string_view rest) {
  const size_t whole = run_of(rest, "");
  if (whole == 0 || whole + 1 >= rest.size() || rest[whole] != '.') return {};
  const size_t part = run_of(rest.substr(whole + 1), "");
  if (part == 0) return {};
  return {whole + 1 + part, std::string(rest.substr(0, whole)) + " point " +
                                std::string(rest.substr(whole + 1, part))};
}

/// Replaces matches of [0-9]+(st|nd|rd|th).
Match ordinals(std::string_view rest) {
  const size_t n = run_of(rest, "");
  if (n == 0) return {};
  for (const std::string_view suffix : {"st", "nd", "rd", "th"}) {
    if (rest.substr(n).starts_with(suffix)) return {n + 2, ordinal(rest.substr(0, n))};
  }
  return {n, std::string(rest.substr(0, n))};
}

/// Replaces matches of [0-9]+.
Match numbers(std::string_view rest) {
  const size_t n = run_of(rest, "");
  return {n, n > 0 ? plain_number(rest.substr(0, n)) : ""};
}

}  // namespace

std::string normalize_numbers(std::string_view text) {
  std::string out(text);
  for (const auto& rule : {commas, pounds, dollars, decimals, ordinals, numbers}) {
    out = replaced(out, rule);
  }
  return out;
}

}  // namespace syrinx::zonos
