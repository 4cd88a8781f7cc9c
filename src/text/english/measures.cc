// Reads money, quantities, products, ranges and plain numbers.
#include <algorithm>
#include <optional>

#include "text/english/amounts.h"
#include "text/english/chars.h"
#include "text/english/counted.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/units.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

/// Returns 5 for "5th"; 0 for other words.
int64_t place_number(std::string_view word) {
  if (word.size() < 3 || word.size() > 8) return 0;
  const std::string_view digits = word.substr(0, word.size() - 2);
  const bool ordinal = is_digits(digits) && listed(" st nd rd th ", word.substr(digits.size()));
  return ordinal ? value_of(digits) : 0;
}

/// Returns the direction of "N", "S", "E" and "W" behind degrees; "" for other words.
std::string_view direction_of(std::string_view word) {
  return word == "N"   ? "north"
         : word == "S" ? "south"
         : word == "E" ? "east"
         : word == "W" ? "west"
                       : std::string_view();
}

/// Reads degrees of the globe, with minutes and seconds: 40°26'46" N, 40.7° N.
Reading read_position(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const size_t sign = core.find(kDegree);
  if (sign == core.npos || !is_number(core.substr(0, sign))) return {};
  std::string_view rest = core.substr(sign + 1), direction;
  if (!rest.empty()) direction = direction_of(rest.substr(rest.size() - 1));
  const bool glued = !direction.empty();
  if (glued) {
    rest.remove_suffix(1);
  } else {
    direction = direction_of(tokens.after(i));
  }
  if (direction.empty()) return {};
  std::string words = cardinal_words(core.substr(0, sign)) + " degrees";
  for (const char* unit : {" minutes", " seconds"}) {
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789."));
    if (number.empty()) break;
    if (!is_number(number)) return {};
    add(words, cardinal_words(number) + unit);
    rest.remove_prefix(std::min(number.size() + 1, rest.size()));  // with the mark after it
  }
  if (!rest.empty()) return {};
  add(words, direction);
  return Spoken{words, glued ? size_t{1} : size_t{2}};
}

/// Reads feet and inches: 6'2" and 27".
Reading read_feet(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const Token& token = tokens[i];
  const auto parts = split(core, '\'');
  if (parts.size() == 2 && is_digits(parts[0], 1, 2) && is_digits(parts[1], 1, 2)) {
    if (value_of(parts[1]) >= 12) {  // 5'30": minutes and seconds
      return Spoken{cardinal_words(parts[0]) + (parts[0] == "1" ? " minute " : " minutes ") +
                    cardinal_words(parts[1]) + " seconds"};
    }
    return Spoken{cardinal_words(parts[0]) + " foot " + cardinal_words(parts[1])};
  }
  if (!is_number(core) || token.in_quotes) return {};
  if (token.quote == '\'' && listed(" end ends UTR cap ", tokens.after(i)))
    return Spoken{cardinal_words(core) + " prime"};  // "the 5' end" of DNA
  const std::string_view next = tokens.after(i);
  const bool screen = token.quote == '"' && listed(
                                                " TV monitor screen display laptop disk floppy "
                                                "wheel wheels pizza pipe ",
                                                next);
  const bool one = core == "1" || screen || stands_before_noun(tokens, i);
  if (token.quote == '"') return Spoken{number_words(core) + (one ? " inch" : " inches")};
  if (token.quote == '\'') return Spoken{number_words(core) + (one ? " foot" : " feet")};
  return {};
}

/// Reads "1920x1080", "2x4", "3×4"; "" for anything else.
std::string product_words(std::string_view text) {
  if (const size_t mark = text.find("\"x"); mark != text.npos) {  // 24"x36"
    std::string plain(text);
    return product_words(plain.erase(mark, 1));
  }
  const size_t at = text.find_first_of("x\xD7");
  if (at == text.npos) return {};
  const std::string_view first = text.substr(0, at), second = text.substr(at + 1);
  const bool decimals = text[at] == 'x' && is_number(first) && is_number(second) &&
                        is_digit(first[0]) && is_digit(second[0]) && text.find('.') != text.npos &&
                        text.find(',') == text.npos;
  if (decimals) return cardinal_words(first) + " by " + cardinal_words(second);
  if (!is_digits(first, 1, 6) || !is_digits(second, 1, 6)) return {};
  const bool large = first.size() > 2 && second.size() > 2;
  const auto side = [](std::string_view digits) {
    return digits.size() == 3 || digits.size() == 4 ? pair_words(digits) : cardinal_words(digits);
  };
  if (text[at] == kTimes && !large) {
    return cardinal_words(first) + " times " + cardinal_words(second);
  }
  return side(first) + " by " + side(second);
}

/// Reads `text`, a product of `used` tokens from token i, with its unit: "12x16 ft", "9x13-inch".
Reading read_measured_product(const Tokens& tokens, size_t i, size_t used, std::string_view text) {
  const size_t digits = text.find_last_of("0123456789") + 1;
  if (used == 1 && digits > 0 && digits < text.size() && is_letter(text[digits])) {  // "4x100m"
    const std::string product = product_words(text.substr(0, digits));
    const std::string unit = unit_words(text.substr(digits), stands_before_noun(tokens, i));
    return product.empty() || unit.empty() ? Reading() : Spoken{product + ' ' + unit};
  }
  std::string words = product_words(text);
  if (words.empty()) return {};
  const std::string_view last = tokens.core(i + used - 1);
  if (const size_t hyphen = last.find('-'); hyphen != last.npos) {
    const std::string noun = behind_hyphen(last.substr(hyphen + 1));
    return noun.empty() ? Reading() : Spoken{words + ' ' + noun, used};
  }
  const Token& end = tokens[i + used - 1];
  const bool marked = tokens.core(i).find("\"x") != std::string_view::npos;  // 24"x36"
  if (end.quote == '"' && (marked || !end.in_quotes)) {                      // a 9x13" pan
    return Spoken{words + (tokens.joined(i + used - 1) ? " inch" : " inches"), used};
  }
  const UnitFound unit = unit_after(tokens, i, used, false);
  add(words, unit.words);
  return Spoken{words, used + unit.used};
}

/// Returns the magnitude ("million") that the word after token i names; "" for other words.
std::string_view size_after(const Tokens& tokens, size_t i) {
  const std::string_view next = tokens.after(i);
  return next.size() > 1 && next != "mm" ? magnitude(next) : std::string_view();
}

/// Reads a range of money: "$5-10 million", "$50k-60k", "$20 - $30", "$10-15/hr". A currency or
/// magnitude that applies to both amounts is spoken once.
Reading read_money_range(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), sign = leading_currency(core);
  if (sign.empty()) return {};
  size_t dash = std::min(core.find_first_of(kDashes, sign.size() + 1), core.size());
  std::string_view first = core.substr(0, dash),
                   second = core.substr(std::min(dash + 1, core.size()));
  size_t used = 1;
  if (dash == core.size()) {  // with spaces around the dash
    const std::string_view apart = tokens.after(i);
    if (apart.size() != 1 || kDashes.find(apart[0]) == kDashes.npos) return {};
    second = tokens.after(i + 1);
    used = 3;
  }
  const bool signs = !leading_currency(second).empty();
  if (second.empty() || !(signs || is_digit(second[0]))) return {};
  const bool sized = !is_letter(second.back());
  const std::string_view size = sized ? size_after(tokens, i + used - 1) : std::string_view();
  const auto left = parse_amount(first);
  const auto right =
      parse_amount(signs ? std::string(second) : std::string(sign) + std::string(second), size);
  if (!left || !right) return {};
  if (!size.empty()) ++used;
  const bool whole =
      !left->cents.empty() || (signs && (right->size.empty() || !left->size.empty()));
  const std::string from = whole                       ? left->text()
                           : left->size == right->size ? cardinal_words(left->number)
                                                       : left->words;
  return Spoken{from + " to " + right->text(stands_before_noun(tokens, i, used)), used};
}

/// Reads "$5-a-month", "$1.5-million-dollar": an amount before other words of a compound.
Reading read_priced(std::string_view core) {
  const size_t dash = core.find('-', 1);
  if (dash == core.npos) return {};
  const auto parts = split(core.substr(dash + 1), '-');
  const std::string_view size =
      parts[0].ends_with("illion") ? magnitude(parts[0]) : std::string_view();
  const auto amount = parse_amount(core.substr(0, dash), size);
  if (!amount || amount->unit.empty() || parts.size() < 2) return {};
  std::string words = amount->text(true);
  for (size_t i = size.empty() ? 0 : 1; i < parts.size(); ++i) {
    if (!all(parts[i], is_letter)) return {};
    if (parts[i] != amount->singular) add(words, parts[i]);
  }
  return Spoken{words};
}

/// Reads an amount in two units: "350\xB0""F/180\xB0""C", "5kg/11lb".
std::string two_amounts(std::string_view core, bool before_noun) {
  const auto parts = split(core, '/');
  if (parts.size() != 2 || parts[1].empty()) return {};
  if (!is_digit(parts[1][0]) && leading_currency(parts[1]).empty()) return {};
  if (parts[1].starts_with("100") && !per_unit(parts[1]).empty()) return {};  // "7 L/100 km"
  const auto first = parse_amount(parts[0]), second = parse_amount(parts[1]);
  if (!first || !second || first->unit.empty() || second->unit.empty()) return {};
  return first->text(before_noun) + ' ' + second->text(before_noun);
}

/// Reads temperatures without a degree sign: "350F", "350F/175C"; "" for anything else.
std::string heat_words(std::string_view core) {
  std::string out;
  for (const std::string_view part : split(core, '/')) {
    if (part.size() < 2 || !is_number(part.substr(0, part.size() - 1))) return {};
    if (part.back() != 'F' && part.back() != 'C') return {};
    add(out, cardinal_words(part.substr(0, part.size() - 1)));
    add(out, part.back() == 'F' ? "degrees fahrenheit" : "degrees celsius");
  }
  return out;
}

bool is_equation(const Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.core(i).find('=') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

Reading read_money(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const bool dotted =
      listed(" Rs Fr SFr ", core) && tokens[i].close == '.' && i + 1 < tokens.size();
  const std::string_view sum = dotted ? tokens.core(i + 1) : next;  // "Rs. 500"
  if (is_currency(core) && !sum.empty() && is_digit(sum[0])) {      // "USD 20", "USD 1.5bn"
    const std::string_view behind = dotted ? std::string_view() : tokens.after(i + 1);
    const bool coded = !is_letter(core.back()) && behind.size() == 3 && is_currency(behind);
    if (coded) {  // "$ 5 USD"
      const auto amount = parse_amount(std::string(sum) + std::string(behind));
      if (amount) return Spoken{amount->text(), 3};
    }
    const std::string_view size = dotted ? std::string_view() : size_after(tokens, i + 1);
    const auto amount = parse_amount(std::string(sum) + std::string(core), size);
    if (amount) return Spoken{amount->text(), size.empty() ? size_t{2} : 3};
  }
  // "0.31 $/kWh"
  const size_t slash = next.find('/');
  if (slash != next.npos && is_currency(next.substr(0, slash)) && is_number(core)) {
    const std::string sign(next.substr(0, slash));
    const bool code = is_letter(sign.back());
    const auto rate = parse_amount(code ? std::string(core) + sign : sign + std::string(core));
    const std::string per = per_words(next.substr(slash));
    if (rate && !per.empty()) return Spoken{rate->text() + ' ' + per, 2};
  }
  if (is_currency(next) && is_digit(core[0])) {  // "20 USD", "20 €", "1.5bn USD"
    const auto amount = parse_amount(std::string(core) + std::string(next));
    if (amount && (is_number(core) || !amount->size.empty())) return Spoken{amount->text(), 2};
  }
  if (is_currency(next) && core.find_first_of(kDashes, 1) != core.npos) {  // "10-15 €"
    const size_t dash = core.find_first_of(kDashes, 1);
    const auto most = parse_amount(std::string(core.substr(dash + 1)) + std::string(next));
    if (is_number(core.substr(0, dash)) && is_number(core.substr(dash + 1)) && most)
      return Spoken{cardinal_words(core.substr(0, dash)) + " to " + most->text(), 2};
  }
  if (!is_money(core)) return {};
  if (auto priced = read_priced(core)) return priced;
  const std::string_view leading = leading_currency(core);
  if (!leading.empty() && !is_letter(leading[0]) && next.size() == 3 && is_letter(next[0]) &&
      is_currency(next)) {  // "$5 USD"
    const auto amount = parse_amount(std::string(core.substr(leading.size())) + std::string(next));
    if (amount && is_number(core.substr(leading.size()))) return Spoken{amount->text(), 2};
  }
  if (auto range = read_money_range(tokens, i)) return range;
  const std::string_view size = size_after(tokens, i);
  const bool glued_size = is_letter(core.back());
  const auto amount = parse_amount(core, glued_size ? std::string_view() : size);
  if (!amount) return {};
  const bool sized = !glued_size && !size.empty();
  const bool before_noun = stands_before_noun(tokens, i, sized ? 2 : 1);
  if (const std::string_view share = price_share(next); !sized && !share.empty())
    return Spoken{amount->text() + ' ' + std::string(share), 2};  // "£950 pcm"
  if (core.find('/') != core.npos && is_digit(core.back())) {     // "$2.50/100 g"
    const UnitFound unit = unit_behind(tokens, i, false);
    if (unit.used > 0) return Spoken{amount->text() + ' ' + unit.words, 1 + unit.used};
  }
  if (next == "/" || (next.size() > 1 && next[0] == '/')) {  // "$5 / month"
    const size_t parts = next == "/" ? 2 : 1;
    const std::string share = per_unit(next == "/" ? tokens.after(i + 1) : next.substr(1));
    if (!share.empty()) return Spoken{amount->text() + ' ' + share, 1 + parts};
  }
  return Spoken{amount->text(before_noun), sized ? size_t{2} : 1};
}

Reading read_quantity(const Tokens& tokens, size_t i) {
  if (auto position = read_position(tokens, i)) return position;
  if (auto feet = read_feet(tokens, i)) return feet;
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  if (core == "per" && next.size() > 1 && !listed(" it in at us me ", next)) {  // "€15 per kg"
    const bool number = is_digit(next[0]);
    const bool sized = number && !magnitude(next.substr(number_length(next))).empty();
    if (!sized && stands_before_noun(tokens, i + 1)) return {};  // "per 100g serving"
    const std::string share = number ? per_words('/' + std::string(next)) : per_unit(next);
    return share.empty() ? Reading() : Spoken{share, 2};
  }
  const bool before_noun = stands_before_noun(tokens, i);
  const auto amount = parse_amount(core);
  if (std::string two = two_amounts(core, before_noun); !two.empty()) return Spoken{two};
  if (is_number(core) && next.find('/') != next.npos) {  // "180 °C/350 °F"
    const std::string_view unit = tokens.after(i + 1);
    const std::string glued = std::string(core) + std::string(next) + std::string(unit);
    const std::string two = two_amounts(glued, before_noun);
    if (!two.empty() && is_digit(next.back())) return Spoken{two, 3};
  }
  if (const std::string heat = heat_words(core);
      !heat.empty() && has_listed_word(tokens, i, word_lists().heat_words)) {
    return Spoken{heat};
  }
  if (const size_t at = core.find('@'); at != core.npos && at > 0) {  // "4K@120Hz"
    const auto left = parse_amount(core.substr(0, at)), right = parse_amount(core.substr(at + 1));
    if (left && right) return Spoken{left->text() + " at " + right->text()};
  }
  const bool frames = listed(" 24p 25p 30p 60p ", core) || tokens.before(i) == "page";
  if (core.size() == 3 && core[2] == 'p' && is_digits(core.substr(0, 2)) && !frames) {  // "50p"
    return Spoken{cardinal_words(core.substr(0, 2)) + " pence"};
  }
  if (core.ends_with('p') && core.find('.') != core.npos &&
      is_number(core.substr(0, core.size() - 1))) {
    return Spoken{cardinal_words(core.substr(0, core.size() - 1)) + " pence"};  // "4.2p"
  }
  const bool points = core.ends_with("bps");
  const std::string_view count = points ? core.substr(0, core.size() - 3) : core;
  if ((points || next == "bps") && is_number(count) &&
      has_listed_word(tokens, i, word_lists().interest_words)) {
    return Spoken{cardinal_words(count) + (count == "1" ? " basis point" : " basis points"),
                  points ? size_t{1} : size_t{2}};
  }
  const bool parted = amount && !amount->unit.empty() && next.starts_with('/');  // "12km /h"
  if (parted) {
    const auto rate = parse_amount(std::string(core) + std::string(next));
    if (rate) return Spoken{rate->text(before_noun), 2};
  }
  if (amount && !amount->unit.empty()) return Spoken{amount->text(before_noun)};
  const bool ratio = is_letter(core[0]) && core.find('/') != core.npos;
  const size_t slash = core.find('/');
  const bool rate = ratio && slash > 1 && !is_number(tokens.before(i)) &&
                    listed(" h hr s sec min dL mL L ", core.substr(slash + 1));
  if (ratio && (rate || core.find('^') != core.npos || tokens.before(i).find('^') != core.npos)) {
    const std::string unit = unit_words(core, false);  // "m/s^2", "10^8 m/s", "a km/h meter"
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
  const bool dotted = next == "ft" && tokens[i + 1].close == '.' && !tokens[i + 1].closes;
  const std::string_view inches = dotted ? tokens.core(i + 2) : tokens.after(i + 1);
  if (next == "ft" && is_digits(inches, 1, 2) && tokens.after(i + 2) == "in") {
    words += one ? " foot " : " feet ";
    return Spoken{words + cardinal_words(tokens.core(i + 2)) + " inches", 4};
  }
  const UnitFound unit = unit_after(tokens, i, 1, one);
  if (unit.used == 0) return {};
  return Spoken{words + ' ' + unit.words, 1 + unit.used};
}

/// Returns whether token i is the x in "5 in. x 3 in.", "2 m x 3 m".
bool is_between_lengths(const Tokens& tokens, size_t i) {
  if (i < 2 || (tokens.core(i) != "x" && tokens.core(i) != "\xD7") || !is_number(tokens.after(i)))
    return false;
  const Token& unit = tokens[i - 1];
  const bool near = unit.close == 0 || unit.close == '.';
  return near && !unit.closes && is_number(tokens.before(i - 1)) &&
         !unit_words(unit.core, true).empty();
}

/// Returns whether a number has its unit directly after it: "50m".
bool is_glued_quantity(std::string_view core) {
  const auto amount = parse_amount(core);
  return amount && !amount->unit.empty() && !is_money(core);
}

Reading read_product(const Tokens& tokens, size_t i) {
  if (is_between_lengths(tokens, i)) return Spoken{"by"};
  const std::string_view core = tokens.core(i);
  if ((core == "x" || core == "\xD7") && is_glued_quantity(tokens.after(i))) {
    if (is_glued_quantity(tokens.before(i))) return Spoken{"by"};  // "50m x 25m"
    const bool sides = tokens.after(i + 1) == "relay" ||
                       (i > 1 && listed(word_lists().articles, lower(tokens.before(i - 1))));
    if (is_number(tokens.before(i))) return Spoken{sides ? "by" : "times"};  // "3 x 400g"
  }
  const bool whole = is_digits(core, 1, 4);
  if ((whole || (is_number(core) && is_digit(core[0]))) &&
      tokens.after(i) == "x") {  // "9 x 13 inch"
    const std::string_view second = tokens.after(i + 1);
    const std::string text =
        std::string(core) + 'x' + std::string(second.substr(0, second.find('-')));
    const Reading spaced = read_measured_product(tokens, i, 3, text);
    const bool result = tokens.after(i + 2) == "=";  // "2.5 x 3 = 7.5"
    const bool measured = spaced && !result &&
                          (second.find('-') != second.npos || spaced->used > 3 || !whole ||
                           listed(" inch inches foot feet pan ", tokens.after(i + 2)));
    return measured ? spaced : Reading();
  }
  Reading product = read_measured_product(tokens, i, 1, core.substr(0, core.find('-')));
  const std::string_view next = tokens.after(i);
  const std::string before = lower(tokens.before(i));
  const bool noun =
      before == "a" || before == "an" ||
      (all(next, is_lower) && !listed(" is are equals and or in of on at by to for ", next));
  const size_t times = product && noun ? product->words.find(" times ") : std::string::npos;
  if (times != std::string::npos) product->words.replace(times, 7, " by ");  // "a 4×4 truck"
  return product;
}

Reading read_factorial(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  if (core.size() < 2 || core.back() != '!') return {};
  core.remove_suffix(1);
  const bool letter = core.size() == 1 && is_letter(core[0]);
  if (!letter && !is_digits(core)) return {};
  return Spoken{(letter ? letter_names(core) : cardinal_words(core)) + " factorial"};
}

/// Returns whether the text ends with a variable, perhaps with a power: "b", "b^2", "sqrt(b^2".
bool is_variable(std::string_view core) {
  core.remove_prefix(core.rfind('(') + 1);
  return !core.empty() && is_letter(core[0]) &&
         (core.size() == 1 || (core[1] == '^' && is_digits(core.substr(2))));
}

Reading read_term(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), before = tokens.before(i);
  const size_t digits = std::min(core.find_first_not_of("0123456789"), core.size());
  const std::string_view letters = core.substr(digits);
  const bool added =
      listed(" + - minus plus ", before) && i > 1 && is_variable(tokens.before(i - 1));
  const bool product = letters == "ac" && before == "=";  // not acres
  if (digits > 0 && letters.size() < 4 && all(letters, is_lower) && (added || product)) {
    return Spoken{cardinal_words(core.substr(0, digits)) + ' ' + letter_names(letters)};
  }
  if (!core.ends_with('x') || !is_number(core.substr(0, core.size() - 1))) return {};
  const auto is_sign = [&](std::string_view sign) {
    return listed(" = + minus ", sign) || (listed(" - * < > ", sign) && is_equation(tokens));
  };
  if (!is_sign(before) && !is_sign(tokens.after(i))) return {};
  return Spoken{cardinal_words(core.substr(0, core.size() - 1)) + " X"};
}

Reading read_range(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  size_t at = core.find(kEnDash);
  if (at == core.npos) at = core.find('-', 1);
  // "10 – 12", "5% - 10%"; but "3 - 2 = 1" is arithmetic.
  const std::string_view sign = tokens.after(i);
  const bool dash = sign == std::string_view("\x1E") || sign == "-";
  if (at == core.npos && dash && tokens.before(i) != "=" && tokens.after(i + 2) != "=") {
    const int64_t from = place_number(core), to = place_number(tokens.after(i + 1));
    if (from > 0 && to > from) return Spoken{ordinal_words(from) + " to " + ordinal_words(to), 3};
    const auto left = parse_amount(core), right = parse_amount(tokens.after(i + 1));
    if (left && right) {
      const bool plain = right->unit.empty() && left->unit.empty();
      const UnitFound unit = plain ? unit_after(tokens, i, 3, false) : UnitFound();
      std::string words = left->text() + " to " + right->text();
      add(words, unit.words);
      return Spoken{words, 3 + unit.used};
    }
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
  const std::string_view behind = tokens.core(i + 1);
  if (first == "M" && second == "F" && !behind.empty() && is_digit(behind[0])) {
    return Spoken{"monday to friday"};  // "open M-F, 8-5"
  }
  if (core[at] == kEnDash && first.size() == 1 && second.size() == 1 && is_upper(first[0]) &&
      is_upper(second[0])) {
    return Spoken{std::string(first) + " to " + std::string(second)};
  }
  const bool present = is_digits(first, 4, 4) && listed(" present now today date current ", second);
  if (present) return Spoken{number_words(first) + " to " + std::string(second)};
  const bool docket = i > 0 && tokens[i - 1].dotted && listed(" No L ", tokens.core(i - 1));
  const bool rises = first.size() == second.size() && first < second;  // "No. 5-7"
  if (docket && !rises && is_digits(first, 1, 4) && is_digits(second, 1, 4))
    return Spoken{pair_words(first) + " dash " + pair_words(second)};  // "No. 22-451"
  const bool piece = i > 1 && listed(word_lists().articles, lower(tokens.before(i - 1)));
  const bool named =  // but not "a table 4-6 people can share"
      !piece && listed(" table figure fig exhibit appendix ", lower(tokens.before(i)));
  if (named && is_digits(first, 1, 2) && is_digits(second, 1, 2)) {
    return Spoken{cardinal_words(first) + " dash " + cardinal_words(second)};  // "Table 3-1"
  }
  bool game = false;  // "beat the Celtics 112-109"
  for (size_t k = i; k > 0 && k + 4 > i && tokens.joined(k - 1); --k)
    game |= listed(word_lists().game_words, lower(tokens.core(k - 1)));
  if (!game && is_digits(first, 3, 4) && is_digits(second, 3, 3) &&
      value_of(second) < value_of(first)) {
    return Spoken{pair_words(first) + ' ' + pair_words(second)};  // "747-400"
  }
  if (const int64_t from = place_number(first), to = place_number(second); from > 0 && to > from) {
    return Spoken{ordinal_words(from) + " to " + ordinal_words(to)};  // "the 5th-7th graders"
  }
  if (core == "50-50") return Spoken{"fifty fifty"};
  auto left = parse_amount(first), right = parse_amount(second);
  if (!left || !right) return {};
  if (!left->unit.empty() && right->unit.empty()) {  // as in "$5-10": the unit applies to both
    right->unit = left->unit;
    left->unit.clear();
  }
  std::string words = left->text() + " to " + right->text();
  size_t used = 1;
  if (right->unit.empty()) {  // "5-10 km"
    const UnitFound unit = unit_after(tokens, i, 1, false);
    add(words, unit.words);
    used += unit.used;
  }
  return Spoken{words, used};
}

/// Returns whether token i, a number with leading zeros, follows a word like "Chapter".
bool counts_parts(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (i == 0 || core.find_first_not_of('0') == core.npos) return false;
  if (i > 2 && tokens.core(i - 1) == "of" && tokens.core(i - 2)[0] == '0') {  // "Part 02 of 03"
    return counts_parts(tokens, i - 2);
  }
  const char close = tokens[i - 1].close;
  return (close == 0 || close == '.') && !tokens[i - 1].closes &&
         listed(word_lists().counted_parts, lower(tokens.core(i - 1)));
}

/// Returns an exponent without a plus and leading zeros: "+08" -> "8", "-05" -> "-5".
std::string plain_power(std::string_view text) {
  const bool negative = text.starts_with('-');
  text.remove_prefix(std::min(text.find_first_not_of("+-0"), text.size() - 1));
  return (negative ? "-" : "") + std::string(text);
}

Reading read_number(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const std::string before = lower(tokens.before(i));
  // "Chapter 01"
  if (is_digits(core, 2, 3) && core[0] == '0' && counts_parts(tokens, i)) {
    return Spoken{cardinal_words(core.substr(core.find_first_not_of('0')))};
  }
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
    if (is_digits(core, 3, 3) && listed(" call dial text dialed called ring rang ", before)) {
      return Spoken{digit_words(core)};
    }
    return Spoken{number_words(core)};
  }
  // Ordinals: "22nd", "1,000th".
  const size_t length = number_length(core);
  std::string digits;
  for (const char c : core.substr(0, length)) {
    if (is_digit(c)) digits += c;
  }
  const std::string end = lower(core.substr(length));
  const bool whole = !digits.empty() && digits.size() <= 15 && is_digit(core[0]) &&
                     core.substr(0, length).find('.') == core.npos;
  const std::string words = whole && end == "ers" ? cardinal_words(digits) : std::string();
  if (!words.empty() && !words.ends_with('y')) {  // "the 49ers"
    return Spoken{words + (words.ends_with('e') ? "rs" : "ers")};
  }
  if (whole && listed(" st nd rd th ", end)) return Spoken{ordinal_words(value_of(digits))};
  if (core.starts_with('\'') && is_digits(core.substr(1), 2, 2)) {
    return Spoken{core[1] == '0' ? "oh " + (core[2] == '0' ? "oh" : digit_words(core.substr(2)))
                                 : cardinal_words(core.substr(1))};
  }
  const size_t e = core.find_first_of("eE");
  if (e != core.npos && e > 0 && is_number(core.substr(0, e)) && is_number(core.substr(e + 1)) &&
      core.substr(e + 1).find_first_of(".,") == core.npos && core.size() < 16) {
    return Spoken{cardinal_words(core.substr(0, e)) + " times ten to the " +
                  cardinal_words(plain_power(core.substr(e + 1)))};
  }
  return {};
}

}  // namespace syrinx::english
