// Money, quantities, fractions, ranges and plain numbers.
#include "text/english/amounts.h"
#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"

namespace syrinx::english {
namespace {

/// Signs that are units only where they touch the number: "3x", "5in"; apart they are words.
constexpr std::string_view kGluedOnly = " x in us mo K k M l \xD7 ";

bool is_article(std::string_view word) { return word == "a" || word == "A" || word == "an"; }

/// Whether the amount at i belongs to a noun: "a $5 meal", "$100 bill".
bool stands_before_noun(const Tokens& tokens, size_t i) {
  const std::string_view next = tokens.after(i);
  if (listed(" bill bills note notes coin coins fee fine tip ", next)) return true;
  return is_article(tokens.before(i)) && all(next, is_lower) &&
         !listed(" of in on at to for and or is was per from by ", next);
}

/// The unit that the token after i names; "" for none.
std::string unit_after(const Tokens& tokens, size_t i, bool one) {
  const std::string_view next = tokens.after(i);
  return listed(kGluedOnly, next) ? std::string() : unit_words(next, one);
}

/// Feet and inches: 6'2" and 27".
Reading read_feet(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const Token& token = tokens[i];
  const auto parts = split(core, '\'');
  if (parts.size() == 2 && is_digits(parts[0], 1, 2) && is_digits(parts[1], 1, 2)) {
    return Spoken{cardinal_words(parts[0]) + " foot " + cardinal_words(parts[1])};
  }
  if (!is_number(core) || token.in_quotes) return {};
  const bool before_noun = stands_before_noun(tokens, i);
  const bool one = core == "1" || before_noun;
  if (token.quote == '"') return Spoken{number_words(core) + (one ? " inch" : " inches")};
  if (token.quote == '\'') return Spoken{number_words(core) + (one ? " foot" : " feet")};
  return {};
}

}  // namespace

Reading read_money(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  if (is_currency(core) && is_number(next) && is_digit(next[0])) {  // "USD 20"
    return Spoken{parse_amount(std::string(next) + std::string(core))->text(), 2};
  }
  if (is_currency(next) && is_number(core) && is_digit(core[0])) {  // "20 USD", "20 €"
    return Spoken{parse_amount(std::string(core) + std::string(next))->text(), 2};
  }
  if (!is_money(core)) return {};
  const std::string_view size = next.size() > 1 && next != "mm" ? magnitude(next) : "";
  const bool glued_size = is_letter(core.back());
  const auto amount = parse_amount(core, glued_size ? std::string_view() : size);
  if (!amount) return {};
  const bool before_noun = stands_before_noun(tokens, i);
  return Spoken{amount->text(before_noun), !glued_size && !size.empty() ? size_t{2} : 1};
}

Reading read_quantity(const Tokens& tokens, size_t i) {
  if (auto feet = read_feet(tokens, i)) return feet;
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const bool before_noun = stands_before_noun(tokens, i);
  const auto amount = parse_amount(core);
  if (amount && !amount->unit.empty()) {
    const std::string_view digits = core.substr(0, core.size() - 1);  // "30s" may be a decade
    if (core.ends_with("0s") && (is_digits(digits, 2, 2) || is_digits(digits, 4, 4))) return {};
    return Spoken{amount->text(before_noun)};
  }
  if (is_letter(core[0]) && core.find('/') != core.npos && core.find('^') != core.npos) {
    const std::string unit = unit_words(core, false);  // "m/s^2"
    if (!unit.empty()) return Spoken{unit};
  }
  const size_t hyphen = core.find('-', 1);  // "a 5-km run"
  if (hyphen != core.npos && is_number(core.substr(0, hyphen))) {
    const std::string unit = unit_words(core.substr(hyphen + 1), true);
    if (!unit.empty()) return Spoken{cardinal_words(core.substr(0, hyphen)) + ' ' + unit};
  }
  if (!is_number(core) || next.empty()) return {};
  const bool one = core == "1";
  std::string words = cardinal_words(core);
  if (next == "sq") {  // "500 sq ft"
    const std::string unit = unit_words(tokens.after(i + 1), one);
    if (!unit.empty()) return Spoken{words + " square " + unit, 3};
  }
  if (next == "ft" && is_digits(tokens.after(i + 1), 1, 2) && tokens.after(i + 2) == "in") {
    words += one ? " foot " : " feet ";
    return Spoken{words + cardinal_words(tokens.core(i + 2)) + " inches", 4};
  }
  const std::string unit = unit_after(tokens, i, one);
  if (unit.empty()) return {};
  return Spoken{words + ' ' + unit, 2};
}

Reading read_fraction(const Tokens& tokens, size_t i) {
  const auto parse = [](std::string_view core, int64_t& top, int64_t& bottom) {
    const auto parts = split(core, '/');
    if (parts.size() != 2 || !is_digits(parts[0], 1, 4) || !is_digits(parts[1], 1, 4)) return false;
    top = value_of(parts[0]);
    bottom = value_of(parts[1]);
    return bottom > 0;
  };
  int64_t top = 0, bottom = 0;
  const std::string_view core = tokens.core(i);
  if (is_digits(core, 1, 6) && parse(tokens.after(i), top, bottom) && top < bottom) {  // "1 1/2"
    std::string words = cardinal_words(core) + " and ";
    words += top == 1 && bottom == 2   ? "a half"
             : top == 1 && bottom == 4 ? "a quarter"
                                       : fraction_words(top, bottom);
    const std::string unit = unit_after(tokens, i + 1, false);
    add(words, unit);
    return Spoken{words, unit.empty() ? size_t{2} : 3};
  }
  if (!parse(core, top, bottom)) return {};
  if (core == "24/7") return Spoken{"twenty four seven"};
  if (core == "9/11") return Spoken{"nine eleven"};
  if (top == bottom) {  // "50/50"
    const std::string side = cardinal_words(std::to_string(top));
    return Spoken{side + ' ' + side};
  }
  const bool rated = (bottom == 10 || bottom == 100) && top != 1;
  if (rated) {
    return Spoken{cardinal_words(std::to_string(top)) + " out of " +
                  cardinal_words(std::to_string(bottom))};
  }
  std::string words = fraction_words(top, bottom);
  const std::string unit = unit_after(tokens, i, true);
  add(words, unit);
  return Spoken{words, unit.empty() ? size_t{1} : 2};
}

Reading read_range(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  size_t at = core.find(kEnDash);
  if (at == core.npos) at = core.find('-', 1);
  // "10 – 12", "5% - 10%"; but "3 - 2 = 1" is arithmetic.
  const std::string_view sign = tokens.after(i);
  const bool dash = sign == std::string_view("\x1E") || sign == "-";
  if (at == core.npos && dash && tokens.after(i + 2) != "=") {
    const auto left = parse_amount(core), right = parse_amount(tokens.after(i + 1));
    if (left && right) return Spoken{left->text() + " to " + right->text(), 3};
  }
  if (at == core.npos || at == 0 || at + 1 >= core.size()) return {};
  const std::string_view first = core.substr(0, at), second = core.substr(at + 1);
  if (second.find(kEnDash) != second.npos || second.find('-', 1) != second.npos) return {};
  const auto undotted = [](std::string_view name) {
    return name.ends_with('.') ? name.substr(0, name.size() - 1) : name;
  };
  const std::string_view left_name = calendar_name(undotted(first));
  const std::string_view right_name = calendar_name(undotted(second));
  if (!left_name.empty() && !right_name.empty()) {
    return Spoken{std::string(left_name) + " to " + std::string(right_name)};
  }
  if (core[at] == kEnDash && first.size() == 1 && second.size() == 1 && is_upper(first[0]) &&
      is_upper(second[0])) {
    return Spoken{std::string(first) + " to " + std::string(second)};
  }
  if (is_digits(first, 3, 4) && is_digits(second, 3, 3) && value_of(second) < value_of(first)) {
    return Spoken{pair_words(first) + ' ' + pair_words(second)};  // "747-400"
  }
  auto left = parse_amount(first), right = parse_amount(second);
  if (!left || !right) return {};
  if (!left->unit.empty() && right->unit.empty()) {  // "$5-10": the unit belongs to both
    right->unit = left->unit;
    left->unit.clear();
  }
  std::string words = left->text() + " to " + right->text();
  size_t used = 1;
  if (right->unit.empty()) {  // "5-10 km"
    const std::string unit = unit_after(tokens, i, false);
    if (!unit.empty()) add(words, unit), used = 2;
  }
  return Spoken{words, used};
}

Reading read_number(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const std::string before = lower(tokens.before(i));
  if (is_number(core)) {
    const bool era = listed(" BC BCE AD CE ", next) || before == "ad";
    const bool dated = listed(" in since by until from circa year before after around ", before);
    if (is_digits(core, 4, 4) && dated && !era && core[0] == '1' && core[1] == '0' &&
        core.substr(2) > "09") {
      return Spoken{pair_words(core)};
    }
    if (listed(" dollars euros pounds yen cents francs rupees ", next)) {
      return Spoken{cardinal_words(core)};
    }
    if (is_digits(core, 3, 3) && listed(" call dial text dialed called ", before)) {
      return Spoken{digit_words(core)};
    }
    return Spoken{number_words(core)};
  }
  // Ordinals and decades: "22nd", "1,000th", "1990s", "'90s".
  const size_t length = number_length(core);
  std::string digits;
  for (const char c : core.substr(0, length)) {
    if (is_digit(c)) digits += c;
  }
  const std::string end = lower(core.substr(length));
  const bool whole = !digits.empty() && digits.size() <= 15 && is_digit(core[0]) &&
                     core.substr(0, length).find('.') == core.npos;
  if (whole && listed(" st nd rd th ", end)) return Spoken{ordinal_words(value_of(digits))};
  const bool decade = whole && (end == "s" || end == "'s") && digits.back() == '0';
  if (decade && (digits.size() == 4 || digits.size() == 2)) {
    const bool decades =
        digits.size() == 4 || listed(" the her his their its my our early mid late ", before);
    if (decades && value_of(digits) >= 20) return Spoken{decade_words(value_of(digits))};
    if (end == "s") return Spoken{cardinal_words(digits) + " seconds"};
  }
  if (core.starts_with('\'') && is_digits(core.substr(1), 2, 2)) {
    return Spoken{core[1] == '0' ? "oh " + digit_words(core.substr(2))
                                 : cardinal_words(core.substr(1))};
  }
  if (core.size() == 4 && core[0] == '\'' && core[3] == 's' && is_digits(core.substr(1, 2)) &&
      core[2] == '0' && core[1] > '1') {
    return Spoken{decade_words(value_of(core.substr(1, 2)))};
  }
  // "1e6"
  const size_t e = core.find_first_of("eE");
  if (e != core.npos && e > 0 && is_number(core.substr(0, e)) && is_number(core.substr(e + 1)) &&
      core.substr(e + 1).find_first_of(".,") == core.npos && core.size() < 16) {
    return Spoken{cardinal_words(core.substr(0, e)) + " times ten to the " +
                  cardinal_words(core.substr(e + 1))};
  }
  return {};
}

}  // namespace syrinx::english
