#include "text/english/token_forms.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "text/english/amounts.h"
#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/units.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

size_t digits_at(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

/// A number with a decimal comma, at the beginning of a text.
struct CommaNumber {
  size_t size = 0;  ///< number of characters; 0 if the text begins otherwise
  std::string plain = {};
};

/// Parses "19,5", "1.234,56", "0,125"; but "1,234" has a comma for thousands.
CommaNumber comma_number(std::string_view text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  size_t at = sign + digits_at(text, sign);
  if (at == sign) return {};
  while (at < text.size() && text[at] == '.' && digits_at(text, at + 1) == 3) at += 4;
  if (at >= text.size() || text[at] != ',') return {};
  const size_t decimals = digits_at(text, at + 1);
  const bool small = text[sign] == '0' && at == sign + 1;
  const bool fits = decimals == 1 || decimals == 2 || (small && decimals > 2 && decimals < 7);
  const size_t size = at + 1 + decimals;
  if (!fits || (size < text.size() && text[size] == ',')) return {};
  std::string plain(text.substr(0, at));
  std::erase(plain, '.');
  return {size, plain + '.' + std::string(text.substr(at + 1, decimals))};
}

/// Returns whether a word is a unit of the number before it. `glued`: no space is between them.
bool is_counted_by(std::string_view word, bool glued) {
  if (word.empty()) return false;
  if (is_currency(word) || is_currency(word.substr(0, word.find('/')))) return true;
  if (glued) return !unit_words(word, false).empty();
  const UnitName unit = unit_name(word, false);
  if (!unit.words.empty() && unit.place == UnitPlace::kAny) return true;
  return !magnitude(word).empty() || is_unit_word(word);
}

/// Returns the core with points in place of decimal commas, or "" if the core has no decimal comma.
/// `before`, `next`: the words on its two sides.
std::string pointed(std::string_view core, std::string_view before, std::string_view next) {
  const std::string_view sign = leading_currency(core);
  const CommaNumber first = comma_number(core.substr(sign.size()));
  if (first.size == 0) return {};
  std::string_view rest = core.substr(sign.size() + first.size);
  std::string out = std::string(sign) + first.plain;
  bool counted = !sign.empty() || is_currency(before);              // "€ 3,50"
  if (rest.size() > 1 && (rest[0] == '-' || rest[0] == kEnDash)) {  // "19,5-21,5"
    const CommaNumber second = comma_number(rest.substr(1));
    if (second.size == 0) return {};
    out += rest[0] + second.plain;
    rest.remove_prefix(1 + second.size);
  }
  counted |= rest.empty() ? is_counted_by(next, false) : is_counted_by(rest, true);
  return counted ? out + std::string(rest) : std::string();
}

/// Returns whether four numbers separated by points are an IPv4 address.
bool is_address(std::string_view core) {
  const auto parts = split(core, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](std::string_view part) {
           return is_digits(part, 1, 3) && value_of(part) < 256;
         });
}

/// Returns the core with commas in place of the points or apostrophes between groups of three
/// digits: "1.234.567", "10'000", "1'234.50". Returns "" for other texts. A single group of digits
/// after a point is the decimals.
std::string grouped(std::string_view core, std::string_view before) {
  std::string_view sign = leading_currency(core);
  if (core.starts_with('-')) sign = core.substr(0, 1);
  const std::string_view number = core.substr(sign.size());
  size_t at = digits_at(number, 0);
  if (at == 0 || at > 3 || at >= number.size() || number[0] == '0') return {};
  const char mark = number[at];
  if (mark != '.' && mark != '\'') return {};
  std::string out(number.substr(0, at));
  int groups = 0;
  for (; at < number.size() && number[at] == mark && digits_at(number, at + 1) == 3; at += 4) {
    out += concat(",", number.substr(at + 1, 3));
    ++groups;
  }
  if (groups == 0 || (mark == '.' && (groups == 1 || is_address(number)))) return {};
  if (listed(" version release build ", lower(before))) return {};
  const std::string_view rest = number.substr(at);
  const bool decimals =
      mark == '\'' && rest.size() > 1 && rest[0] == '.' && digits_at(rest, 1) + 1 == rest.size();
  if (!rest.empty() && !decimals) return {};
  return concat(sign, out, rest);
}

/// Returns "100,000" for "1,00,000", whose groups have two digits in India; "" for other texts.
std::string of_lakhs(std::string_view core) {
  const std::string_view sign = leading_currency(core);
  core.remove_prefix(sign.size());
  const auto parts = split(core, ',');
  if (parts.size() < 3 || !is_digits(parts[0], 1, 2)) return {};
  for (size_t p = 1; p < parts.size(); ++p) {
    if (!is_digits(parts[p], p + 1 < parts.size() ? 2 : 3, p + 1 < parts.size() ? 2 : 3)) return {};
  }
  std::string digits(core), out;
  std::erase(digits, ',');
  for (size_t k = 0; k < digits.size(); ++k) {
    if (k > 0 && (digits.size() - k) % 3 == 0) out += ',';
    out += digits[k];
  }
  return concat(sign, out);
}

/// Returns whether token i is "p." or "a." after a time, with "m." as the next token.
bool is_parted_half(const std::vector<Token>& tokens, size_t i) {
  if (i == 0 || i + 1 >= tokens.size() || !is_digit(tokens[i - 1].core[0])) return false;
  if (tokens[i - 1].close != 0 || tokens[i].close != '.' || tokens[i].closes) return false;
  return listed(" a p A P ", tokens[i].core) && listed(" m M ", tokens[i + 1].core);
}

/// Returns whether a token is an operator of a formula, or a word that fold() writes for one.
bool is_sign_of_formula(std::string_view core) {
  return listed(" = + * / ^ \xD7 equals times divided minus plus over ", core);
}

/// Returns whether the "!" after token i means a factorial: "5! = 120", "n! / k!". After a price or
/// a score ("It costs 5!") it does not.
bool is_factorial(const std::vector<Token>& tokens, size_t i) {
  const Token& token = tokens[i];
  const bool letter = token.core.size() == 1 && is_lower(token.core[0]);
  if (token.close != '!' || token.closes || !(letter || is_digits(token.core, 1, 3))) return false;
  if (i + 1 < tokens.size() && is_sign_of_formula(tokens[i + 1].core)) return true;
  if (i == 0 && i + 1 < tokens.size() && tokens[1].core == "is") return true;  // "5! is 120"
  const auto factorial = [](const Token& other) { return other.core.back() == '!'; };
  return i > 1 && is_sign_of_formula(tokens[i - 1].core) &&
         std::any_of(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(i), factorial);
}

}  // namespace

std::vector<Token> with_known_forms(std::vector<Token> tokens) {
  std::vector<Token> out;
  out.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (is_factorial(tokens, i)) {
      tokens[i].core += '!';
      tokens[i].close = 0;
    }
    Token token = tokens[i];
    if (is_parted_half(tokens, i)) {
      token = tokens[++i];
      token.core = tokens[i - 1].core + ".m";
      token.begin = tokens[i - 1].begin;
    } else if (lower(token.core.substr(0, 3)) == "no." && is_digits(token.core.substr(3), 1, 4)) {
      token.core = concat("#", std::string_view(token.core).substr(3));  // "No.1"
    } else {
      const bool joined = i + 1 < tokens.size() && token.close == 0 && !token.closes;
      const bool follows = i > 0 && tokens[i - 1].close == 0 && !tokens[i - 1].closes;
      const std::string_view before = follows ? std::string_view(tokens[i - 1].core) : "",
                             next = joined ? std::string_view(tokens[i + 1].core) : "";
      const bool comma = token.core.find(',') != token.core.npos;
      std::string plain = comma ? pointed(token.core, before, next) : grouped(token.core, before);
      if (plain.empty() && comma) plain = of_lakhs(token.core);
      if (!plain.empty()) token.core = std::move(plain);
      const size_t dot = token.core.find("./");  // "50 lbs./ft."
      if (dot != token.core.npos && !unit_words(token.core.substr(0, dot), true).empty()) {
        token.core.erase(dot, 1);
      }
    }
    out.push_back(std::move(token));
  }
  return out;
}

}  // namespace syrinx::english
