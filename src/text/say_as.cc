#include "text/say_as.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/reader.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

using Said = std::optional<std::string>;

struct SignName {
  std::string_view sign, name;
};
constexpr std::array kSignNames = std::to_array<SignName>({{".", "dot"},
                                                           {",", "comma"},
                                                           {"-", "dash"},
                                                           {"_", "underscore"},
                                                           {"/", "slash"},
                                                           {"\\", "backslash"},
                                                           {"@", "at"},
                                                           {"#", "hash"},
                                                           {"*", "star"},
                                                           {"+", "plus"},
                                                           {"=", "equals"},
                                                           {"&", "and"},
                                                           {"%", "percent"},
                                                           {"$", "dollar"},
                                                           {":", "colon"},
                                                           {";", "semicolon"},
                                                           {"!", "exclamation mark"},
                                                           {"?", "question mark"},
                                                           {"(", "open parenthesis"},
                                                           {")", "close parenthesis"},
                                                           {"'", "apostrophe"},
                                                           {"\"", "quote"},
                                                           {"<", "less than"},
                                                           {">", "greater than"},
                                                           {"~", "tilde"},
                                                           {"^", "caret"},
                                                           {"|", "bar"}});

/// Names every character. In English, a single capital in the result is a letter's name.
std::string spelled_out(std::string_view text, bool english) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    const std::string_view one = text.substr(at, code.size);
    at += code.size;
    if (one == " " || one == "\n" || one == "\t" || one == "\r") continue;
    const auto sign = std::find_if(kSignNames.begin(), kSignNames.end(),
                                   [&](const SignName& s) { return s.sign == one; });
    if (!english) {
      english::add(out, one);
    } else if (english::is_digit(one[0])) {
      english::add(out, english::digit_words(one));
    } else if (sign != kSignNames.end()) {
      english::add(out, sign->name);
    } else {
      english::add(out, std::string(1, english::to_upper(one[0])) + std::string(one.substr(1)));
      const bool article = out.ends_with('A') && at < text.size() && !english::is_letter(text[at]);
      if (article) out += ',';  // otherwise "a" would be an article in "A seven"
    }
  }
  return out;
}

/// Reads digits one by one, with a comma where other characters separate them.
std::string digits_in_groups(std::string_view text, bool english) {
  std::string out;
  bool gap = false;
  for (const char c : text) {
    if (c == '+' && out.empty()) out = english ? "plus" : "+";
    if (!english::is_digit(c)) {
      gap = true;
      continue;
    }
    if (gap && !out.empty() && out != "plus") out += ',';
    gap = false;
    english::add(out, english ? english::digit_words({&c, 1}) : std::string(1, c));
  }
  return out;
}

std::vector<int64_t> numbers_in(std::string_view text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < text.size();) {
    if (!english::is_digit(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && english::is_digit(text[end])) ++end;
    out.push_back(english::value_of(text.substr(at, std::min<size_t>(end - at, 9))));
    at = end;
  }
  return out;
}

/// Reads a date like "5/12/2026". The format ("dmy") gives the order of its parts.
Said date_of(std::string_view format, std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {
      "january", "february", "march",     "april",   "may",      "june",
      "july",    "august",   "september", "october", "november", "december"};
  std::string order = lower_ascii(format);
  for (const auto& [from, to] : std::array<std::pair<std::string_view, std::string_view>, 3>{
           {{"yyyy", "y"}, {"mm", "m"}, {"dd", "d"}}}) {
    if (const size_t at = order.find(from); at != order.npos) order.replace(at, from.size(), to);
  }
  std::erase_if(order, [](char c) { return c != 'y' && c != 'm' && c != 'd'; });
  std::vector<int64_t> parts = numbers_in(text);
  if (parts.size() == 1 && text.size() == 8) {  // like 20261123
    const int64_t all = parts[0];
    parts = {all / 10000, all / 100 % 100, all % 100};
    if (order.empty()) order = "ymd";
  }
  if (order.empty()) order = parts.size() == 3 && parts[0] > 31 ? "ymd" : "mdy";
  if (parts.size() != order.size()) return {};
  int64_t year = -1, month = 0, day = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    (order[i] == 'y' ? year : order[i] == 'm' ? month : day) = parts[i];
  }
  if (month > 12 || day > 31) return {};
  if (year >= 0 && year < 100) year += year < 50 ? 2000 : 1900;
  std::string out = month > 0 ? std::string(kMonths[static_cast<size_t>(month - 1)]) : "";
  if (day > 0) english::add(out, english::ordinal_words(day));
  if (year >= 0) {
    const std::string words = english::number_words(std::to_string(year));
    out += (out.empty() || day == 0 ? "" : ",");
    english::add(out, words);
  }
  return out.empty() ? Said() : out;
}

/// Reads a time: "2:30pm", "14:30:05", "1'21"" (a minute and 21 seconds).
Said time_of(std::string_view text) {
  const std::vector<int64_t> parts = numbers_in(text);
  if (parts.empty() || parts.size() > 3) return {};
  const auto words = [](int64_t n) { return english::cardinal_words(std::to_string(n)); };
  if (text.find('\'') != text.npos && parts.size() == 2) {
    return words(parts[0]) + (parts[0] == 1 ? " minute " : " minutes ") + words(parts[1]) +
           (parts[1] == 1 ? " second" : " seconds");
  }
  const std::string small = lower_ascii(text);
  const bool half = small.find('a') != small.npos || small.find('p') != small.npos;
  if (parts[0] > 24 || (parts.size() > 1 && parts[1] > 59)) return {};
  std::string out = words(parts[0]);
  if (parts.size() > 1 && parts[1] > 0) {
    english::add(out, parts[1] < 10 ? "oh " + words(parts[1]) : words(parts[1]));
  } else if (!half) {
    out += parts[0] >= 1 && parts[0] <= 12 ? " o'clock" : " hundred";
  }
  if (parts.size() > 2) out += " and " + words(parts[2]) + (parts[2] == 1 ? " second" : " seconds");
  if (half) out += small.find('a') != small.npos ? " A M" : " P M";
  return out;
}

Said fraction_of(std::string_view text) {
  std::string out;
  if (const size_t space = text.find_first_of(" +"); space != text.npos) {
    if (!english::is_digits(text.substr(0, space))) return {};
    out = english::cardinal_words(text.substr(0, space)) + " and";
    text = trimmed(text.substr(space + 1));
  }
  const size_t slash = text.find('/');
  if (slash == text.npos || !english::is_digits(text.substr(0, slash), 1, 9) ||
      !english::is_digits(text.substr(slash + 1), 1, 9)) {
    return {};
  }
  const int64_t top = english::value_of(text.substr(0, slash));
  const int64_t bottom = english::value_of(text.substr(slash + 1));
  if (bottom == 0) return {};
  english::add(out, english::fraction_words(top, bottom));
  return out;
}

}  // namespace

Said say_as(std::string_view kind, std::string_view format, std::string_view text, bool english) {
  text = trimmed(text);
  if (text.empty()) return {};
  if (kind == "characters" || kind == "spell-out" || kind == "verbatim" || kind == "letters") {
    return spelled_out(text, english);
  }
  if (kind == "digits" || kind == "number_digit" || kind == "telephone" || kind == "phone") {
    if (!english::any(text, english::is_digit)) return {};
    return digits_in_groups(text, english);
  }
  if (!english) return {};
  std::string plain(text);
  std::erase(plain, ',');
  if (kind == "cardinal" || kind == "number") {
    if (kind == "number" && text.find('/') != text.npos) return fraction_of(text);
    const bool number = english::is_number(plain);
    return number ? Said(english::cardinal_words(plain)) : Said();
  }
  if (kind == "ordinal") {
    const std::string digits = plain.substr(0, plain.find_first_not_of("0123456789"));
    return english::is_digits(digits, 1, 15)
               ? Said(english::ordinal_words(english::value_of(digits)))
               : Said();
  }
  if (kind == "date") return date_of(format, text);
  if (kind == "time") return time_of(text);
  if (kind == "fraction") return fraction_of(text);
  return {};
}

}  // namespace syrinx
