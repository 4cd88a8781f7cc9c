// Money, quantities, fractions, ranges and plain numbers.
#include <algorithm>
#include <array>
#include <optional>

#include "text/english/amounts.h"
#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/units.h"

namespace syrinx::english {
namespace {

bool is_article(std::string_view word) { return word == "a" || word == "A" || word == "an"; }

/// Whether the amount of `used` tokens at i belongs to a noun: "a $5 meal", "$100 bill", "a 5 km
/// run", "an 8 fl. oz. can".
bool stands_before_noun(const Tokens& tokens, size_t i, size_t used = 1) {
  const size_t last = i + used - 1;
  const bool dotted = used > 1 && tokens[last].close == '.' && !tokens[last].closes;
  const std::string_view next = dotted ? tokens.core(last + 1) : tokens.after(last);
  if (listed(" bill bills note notes coin coins fee fine tip ", next)) return true;
  return is_article(tokens.before(i)) && all(next, is_lower) &&
         !listed(" of in on at to for and or is was per from by with than before after as but ",
                 next);
}

/// A unit and how many tokens it takes; none where there is no unit.
struct UnitFound {
  std::string words = {};
  size_t used = 0;
};

/// Units of two words, whose full stops may stand: "sq. ft.", "fl oz".
UnitFound unit_of_two(const Tokens& tokens, size_t at, bool one) {
  const std::string_view first = tokens.core(at), second = tokens.core(at + 1);
  const bool near = tokens.joined(at) || (at + 1 < tokens.size() && tokens[at].close == '.');
  const std::string unit = near ? unit_words(second, one) : std::string();
  if (unit.empty()) return {};
  if (first == "sq" || first == "square") return {"square " + unit, 2};
  if (first == "cu" || first == "cubic") return {"cubic " + unit, 2};
  if (first == "fl" && second == "oz") return {"fluid " + unit, 2};
  return {};
}

/// What letters name behind it: "Section 5 A" is no current.
bool is_lettered(std::string_view word) {
  constexpr std::string_view kLettered =
      " section room gate seat row platform grade class part type unit apartment apt flat suite"
      " option plan exit line route block building article appendix level zone group hall terminal"
      " chapter figure table page bus track size version form schedule house number no team door ";
  return listed(kLettered, lower(word));
}

/// "300 K" of money or of people, "7 B parameters": a thousand and a billion.
bool is_count(const Tokens& tokens, size_t i) {
  constexpr std::string_view kPaid =
      " paid pay pays cost costs earn earns earned make makes made spent worth raised over ";
  constexpr std::string_view kCounted =
      " users followers views subscribers people run race tokens context parameters params model"
      " models dollars resolution video likes downloads ";
  return listed(kPaid, lower(tokens.before(i))) || listed(kCounted, tokens.after(i + 1));
}

/// The unit that begins with token `at`, its signs with blanks between them or without: "km / h",
/// "L/100 km", "tokens/s".
UnitFound unit_at(const Tokens& tokens, size_t at, bool one, bool letters) {
  UnitFound found;
  std::string sign;
  for (size_t used = 1; used <= 4 && at + used <= tokens.size(); ++used) {
    const std::string_view part = tokens.core(at + used - 1);
    const bool goes_on = sign.empty() || sign.back() == '/' || part[0] == '/' ||
                         (is_digit(sign.back()) && sign.find('/') != sign.npos);
    if (!goes_on) break;
    sign += part;
    const UnitName name = unit_name(sign, one);
    const bool stands = name.place == UnitPlace::kAny || name.place == UnitPlace::kApart ||
                        (name.place == UnitPlace::kLetter && letters);
    if (!name.words.empty() && stands) found = {name.words, used};
    if (!tokens.joined(at + used - 1)) break;
  }
  const size_t slash = sign.find('/');
  if (found.used > 0 || slash == sign.npos) return found;
  const std::string_view counted = std::string_view(sign).substr(0, slash);
  const std::string share = per_unit(std::string_view(sign).substr(slash + 1));  // "tokens/s"
  const bool one_token = sign == tokens.core(at);
  if (!one_token || share.empty() || counted.size() < 3 || !all(counted, is_lower)) return {};
  return {word_words(counted) + ' ' + share, 1};
}

/// The unit that begins behind token i.
UnitFound unit_behind(const Tokens& tokens, size_t i, bool one) {
  const std::string_view next = tokens.after(i);
  if (next.empty()) return {};
  if (UnitFound two = unit_of_two(tokens, i + 1, one); two.used > 0) return two;
  const bool ends = i + 2 >= tokens.size();
  const bool sized =
      listed(" wide long tall deep thick high across ", tokens.after(i + 1));  // "5 in wide"
  const bool inches = next == "in" && (tokens[i + 1].close == '.' ? !ends : ends || sized);
  if (inches) return {unit_words(next, one), 1};
  if (next == "pt" && listed(" font type text ", lower(tokens.after(i + 1)))) return {};
  const bool first =
      next == "st" && tokens.core(i).ends_with('1') && !tokens.core(i).ends_with("11");
  const bool letters = !is_lettered(tokens.before(i)) && !is_count(tokens, i) && !first;
  UnitFound found = unit_at(tokens, i + 1, one, letters);
  if (found.used == 1 && tokens.after(i + 1) == "per") {  // "12 km per h"
    const std::string share = per_unit(tokens.after(i + 2));
    if (!share.empty()) return {found.words + ' ' + share, 3};
  }
  return found;
}

/// The same behind the number at i, which takes `used` tokens; one before a noun: "a 10 lb bag".
UnitFound unit_after(const Tokens& tokens, size_t i, size_t used, bool one) {
  UnitFound found = unit_behind(tokens, i + used - 1, one);
  const bool before_noun = found.used > 0 && stands_before_noun(tokens, i, used + found.used);
  return before_noun && !one ? unit_behind(tokens, i + used - 1, true) : found;
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

constexpr std::string_view kDashes = "-\x1E";

struct Fraction {
  int64_t top, bottom;
};

/// "1/2", "24/7".
std::optional<Fraction> fraction_of(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() != 2 || !is_digits(parts[0], 1, 4) || !is_digits(parts[1], 1, 4)) return {};
  const Fraction found{value_of(parts[0]), value_of(parts[1])};
  return found.bottom > 0 ? std::optional(found) : std::nullopt;
}

/// A part of a whole as rulers and kitchens have it: no date and no score.
bool is_part(const Fraction& fraction) {
  return fraction.top < fraction.bottom &&
         listed(" 2 3 4 5 6 8 10 12 16 32 64 ", std::to_string(fraction.bottom));
}

/// "1", "1/2", "1 1/2" and "1-1/2" in words; "" for anything else.
std::string mixed_words(std::string_view text) {
  if (is_digits(text, 1, 6)) return cardinal_words(text);
  const size_t gap = text.find_first_of(" -");
  const auto part = fraction_of(gap == text.npos ? text : text.substr(gap + 1));
  if (!part || part->top >= part->bottom) return {};
  const std::string words = fraction_words(part->top, part->bottom);
  if (gap == text.npos) return is_part(*part) ? words : std::string();
  const std::string_view whole = text.substr(0, gap);
  if (!is_digits(whole, 1, 6)) return {};
  const bool one = part->top == 1 && (part->bottom == 2 || part->bottom == 4);
  return cardinal_words(whole) + " and " + (one ? 'a' + words.substr(3) : words);
}

/// "1-1/2", "1/4-1/2", "1 1/2-2": one number or two.
std::string joined_fraction_words(std::string_view text) {
  if (std::string words = mixed_words(text); !words.empty()) return words;
  for (size_t dash = text.find_first_of(kDashes); dash != text.npos;
       dash = text.find_first_of(kDashes, dash + 1)) {
    const std::string from = mixed_words(text.substr(0, dash));
    const std::string to = mixed_words(text.substr(dash + 1));
    if (!from.empty() && !to.empty()) return from + " to " + to;
  }
  return {};
}

/// "inch", "cup", "year-old" behind a number and a hyphen; "" for anything but words.
std::string behind_hyphen(std::string_view text) {
  std::string words;
  for (const std::string_view part : split(text, '-')) {
    if (!all(part, is_letter)) return {};
    const std::string unit = unit_words(part, true);
    add(words, unit.empty() ? word_words(part) : unit);
  }
  return words;
}

/// Fractions that stand with a whole number, another fraction or what they are of: "1 1/2 cups",
/// "1/4-1/2 tsp", "1 1/2-inch".
Reading read_joined_fraction(const Tokens& tokens, size_t i) {
  if (!is_digit(tokens.core(i)[0])) return {};
  Reading longest;
  std::string text;
  for (size_t used = 1; used <= 3; ++used) {
    text += tokens.core(i + used - 1);
    const size_t word = std::find_if(text.begin(), text.end(), is_letter) - text.begin();
    const bool hyphen = word < text.size() && text[word - 1] == '-';
    const std::string_view number = std::string_view(text).substr(0, word - (hyphen ? 1 : 0));
    std::string words = joined_fraction_words(number);
    const bool fraction = number.find('/') != number.npos;
    if (fraction && hyphen && !words.empty()) {
      const std::string noun = behind_hyphen(std::string_view(text).substr(word));
      return noun.empty() ? Reading() : Spoken{words + ' ' + noun, used};
    }
    if (fraction && word == text.size() && !words.empty() && !fraction_of(number)) {
      const bool part = fraction_of(number.substr(0, number.find_first_of(kDashes))).has_value();
      const UnitFound unit = unit_after(tokens, i, used, part);
      add(words, unit.words);
      longest = Spoken{words, used + unit.used};
    }
    if (word < text.size() || tokens.after(i + used - 1).empty()) break;
    text += ' ';
  }
  return longest;
}

/// "1920x1080", "2x4", "3×4"; "" for anything else.
std::string product_words(std::string_view text) {
  const size_t at = text.find_first_of("x\xD7");
  if (at == text.npos) return {};
  const std::string_view first = text.substr(0, at), second = text.substr(at + 1);
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

/// The product `text`, which `used` tokens from i on hold, with its unit: "12x16 ft", "9x13-inch".
Reading read_measured_product(const Tokens& tokens, size_t i, size_t used, std::string_view text) {
  std::string words = product_words(text);
  if (words.empty()) return {};
  const std::string_view last = tokens.core(i + used - 1);
  if (const size_t hyphen = last.find('-'); hyphen != last.npos) {
    const std::string noun = behind_hyphen(last.substr(hyphen + 1));
    return noun.empty() ? Reading() : Spoken{words + ' ' + noun, used};
  }
  const UnitFound unit = unit_after(tokens, i, used, false);
  add(words, unit.words);
  return Spoken{words, used + unit.used};
}

/// "million" for the word behind token i: of money.
std::string_view size_after(const Tokens& tokens, size_t i) {
  const std::string_view next = tokens.after(i);
  return next.size() > 1 && next != "mm" ? magnitude(next) : std::string_view();
}

/// "$5-10 million", "$50k-60k", "$20 - $30", "$10-15/hr": sign and size are told once where they
/// are the same.
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

/// "80s", "1,000s": a number with an s behind it.
bool is_plural_number(std::string_view core) {
  return core.size() > 1 && core.back() == 's' && is_digit(core[0]) &&
         is_number(core.substr(0, core.size() - 1));
}

/// 80 for "80s", "'80s" and "80's", 1990 for "1990s"; 0 for anything else.
int64_t decade_of(std::string_view core) {
  if (core.starts_with('\'')) core.remove_prefix(1);
  if (!core.ends_with('s')) return 0;
  core.remove_suffix(core.ends_with("'s") ? 2 : 1);
  const bool years = is_digits(core, 2, 2) || is_digits(core, 4, 4);
  return years && core.back() == '0' ? value_of(core) : 0;
}

/// What decades are told of.
constexpr std::string_view kStyles =
    " music band bands song songs hit hits rock pop disco style fashion hair kid kids movie movies"
    " film films show shows sitcom era theme party icon icons nostalgia ";

/// "1950s-60s", "1990s/2000s": two decades in one token; "" for anything else.
std::string two_decades(std::string_view core, std::string_view before, std::string_view next) {
  const size_t at = core.find_first_of("-/\x1E", 1);
  if (at == core.npos) return {};
  const int64_t first = decade_of(core.substr(0, at)), second = decade_of(core.substr(at + 1));
  const bool year = first > 99 || second > 99 || core[0] == '\'' || listed(kStyles, next) ||
                    listed(" the early mid late ", lower(before));
  if (first < 20 || second < 20 || !year) return {};
  return decade_words(first) + (core[at] == '/' ? " " : " to ") + decade_words(second);
}

/// "1h30m" in words, one for each part; none for anything else. `last`: the place in kTimes of the
/// part before, which was longer.
std::vector<std::string> duration_words(std::string_view core, size_t& last) {
  constexpr std::string_view kTimes = " wdhms";
  constexpr std::array<std::string_view, 6> kNames = {"",     "week",   "day",
                                                      "hour", "minute", "second"};
  std::vector<std::string> out;
  for (size_t at = 0; at < core.size();) {
    const size_t end = std::min(core.find_first_not_of("0123456789", at), core.size());
    const size_t time = end < core.size() ? kTimes.find(core[end]) : kTimes.npos;
    if (!is_digits(core.substr(at, end - at), 1, 4) || time == kTimes.npos || time <= last)
      return {};
    const std::string_view number = core.substr(at, end - at);
    out.push_back(cardinal_words(number) + ' ' + std::string(kNames[time]) +
                  (number == "1" ? "" : "s"));
    last = time;
    at = end + 1;
  }
  return out;
}

/// "350\xB0""F/180\xB0""C", "5kg/11lb": one amount in two units.
std::string two_amounts(std::string_view core, bool before_noun) {
  const auto parts = split(core, '/');
  if (parts.size() != 2 || parts[1].empty()) return {};
  if (!is_digit(parts[1][0]) && leading_currency(parts[1]).empty()) return {};
  const auto first = parse_amount(parts[0]), second = parse_amount(parts[1]);
  if (!first || !second || first->unit.empty() || second->unit.empty()) return {};
  return first->text(before_noun) + ' ' + second->text(before_noun);
}

bool is_equation(const Tokens& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.core(i).find('=') != std::string_view::npos) return true;
  }
  return false;
}

/// Whether one of the words stands right before token i or one or two words further.
bool follows(const Tokens& tokens, size_t i, std::string_view words) {
  for (size_t back = 1; back <= 3 && back <= i; ++back) {
    if (tokens[i - back].close != 0 && tokens[i - back].close != ':') return false;
    if (listed(words, lower(tokens.core(i - back)))) return true;
  }
  return false;
}

/// Odds of a bet: "100/1", "odds of 5/2", "the 9/4 favourite".
bool is_odds(const Tokens& tokens, size_t i, const Fraction& fraction) {
  if (fraction.bottom == 1 && fraction.top > 1) return true;
  return follows(tokens, i, " odds priced ") ||
         listed(" odds favourite favorite outsider shot underdog ", tokens.after(i));
}

/// Points of those there are: "4/5 stars", "rated 3/5", "score: 18/20".
bool is_rated(const Tokens& tokens, size_t i, const Fraction& fraction) {
  const std::string_view next = tokens.after(i);
  if (next == "of" || fraction.top > fraction.bottom) return false;
  return listed(" star stars points marks rating score review ", next) ||
         (fraction.bottom > 3 &&
          follows(tokens, i, " rate rates rated rating score scores scored grade graded "));
}

/// "4.5/5" and the season "2023/24".
Reading read_rating(std::string_view core) {
  const auto parts = split(core, '/');
  if (parts.size() != 2 || !is_digits(parts[1])) return {};
  const bool whole = parts[0].find('.') == core.npos;
  if (!whole && is_number(parts[0]) && listed(" 4 5 10 20 100 ", parts[1])) {
    return Spoken{cardinal_words(parts[0]) + " out of " + cardinal_words(parts[1])};
  }
  const bool season = is_digits(parts[0], 4, 4) && parts[1].size() == 2 && parts[0] > "1800" &&
                      (value_of(parts[0]) + 1) % 100 == value_of(parts[1]);
  return season ? Reading(Spoken{number_words(parts[0]) + ' ' + number_words(parts[1])})
                : Reading();
}

}  // namespace

Reading read_money(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const bool dotted = core == "Rs" && tokens[i].close == '.' && i + 1 < tokens.size();
  const std::string_view sum = dotted ? tokens.core(i + 1) : next;  // "Rs. 500"
  if (is_currency(core) && !sum.empty() && is_digit(sum[0])) {      // "USD 20", "USD 1.5bn"
    const auto amount = parse_amount(std::string(sum) + std::string(core));
    if (amount) return Spoken{amount->text(), 2};
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
  if (!is_money(core)) return {};
  if (auto range = read_money_range(tokens, i)) return range;
  const std::string_view size = size_after(tokens, i);
  const bool glued_size = is_letter(core.back());
  const auto amount = parse_amount(core, glued_size ? std::string_view() : size);
  if (!amount) return {};
  const bool before_noun = stands_before_noun(tokens, i);
  if (core.find('/') != core.npos && is_digit(core.back())) {  // "$2.50/100 g"
    const UnitFound unit = unit_behind(tokens, i, false);
    if (unit.used > 0) return Spoken{amount->text() + ' ' + unit.words, 1 + unit.used};
  }
  if (next == "/" || (next.size() > 1 && next[0] == '/')) {  // "$5 / month"
    const size_t parts = next == "/" ? 2 : 1;
    const std::string share = per_unit(next == "/" ? tokens.after(i + 1) : next.substr(1));
    if (!share.empty()) return Spoken{amount->text() + ' ' + share, 1 + parts};
  }
  return Spoken{amount->text(before_noun), !glued_size && !size.empty() ? size_t{2} : 1};
}

Reading read_decade(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  if (next == "of" && is_plural_number(core)) {  // "100s of people"
    std::string digits(core.substr(0, core.size() - 1));
    std::erase(digits, ',');
    const std::string words = cardinal_words(digits);
    const bool one = words.starts_with("one ") && words.find(' ', 4) == words.npos;
    if (one) return Spoken{words.substr(4) + 's'};
  }
  const size_t slash = core.find('/');
  if (slash != core.npos && all(core.substr(slash + 1), is_lower)) {  // "late 1970s/early 1980s"
    const int64_t first = decade_of(core.substr(0, slash));
    if (first > 99) return Spoken{decade_words(first) + ' ' + std::string(core.substr(slash + 1))};
  }
  const int64_t decade = decade_of(core);
  if (decade < 20) return {};
  const std::string before = lower(tokens.before(i));
  const auto beside = [&](size_t word, size_t other) {
    return listed(" and or to through & ", lower(tokens.core(word))) &&
           decade_of(tokens.core(other)) > 0;
  };
  const bool certain = core[0] == '\'' || core.ends_with("'s") || decade > 99;
  const bool cued = listed(" the her his their its my our early mid late ", before) ||
                    listed(kStyles, lower(next)) || (before == "an" && all(next, is_lower)) ||
                    (tokens.joined(i) && beside(i + 1, i + 2)) || (i > 1 && beside(i - 1, i - 2));
  return certain || cued ? Reading(Spoken{decade_words(decade)}) : Reading();
}

Reading read_duration(const Tokens& tokens, size_t i) {
  std::string words;
  size_t used = 0, parts = 0, last = 0;
  while (used == 0 || tokens.joined(i + used - 1)) {
    const auto part = duration_words(tokens.core(i + used), last);
    if (part.empty()) break;
    parts += part.size();
    for (const std::string& one : part) add(words, one);
    ++used;
  }
  const bool ago = used == 1 && listed(" ago later ", tokens.after(i));
  return parts > 1 || ago ? Reading(Spoken{words, used}) : Reading();
}

Reading read_quantity(const Tokens& tokens, size_t i) {
  if (auto feet = read_feet(tokens, i)) return feet;
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  const bool before_noun = stands_before_noun(tokens, i);
  const auto amount = parse_amount(core);
  if (std::string two = two_amounts(core, before_noun); !two.empty()) return Spoken{two};
  if (is_number(core) && next.find('/') != next.npos) {  // "180 °C/350 °F"
    const std::string_view unit = tokens.after(i + 1);
    const std::string glued = std::string(core) + std::string(next) + std::string(unit);
    const std::string two = two_amounts(glued, before_noun);
    if (!two.empty() && is_digit(next.back())) return Spoken{two, 3};
  }
  const bool parted = amount && !amount->unit.empty() && next.starts_with('/');  // "12km /h"
  if (parted) {
    const auto rate = parse_amount(std::string(core) + std::string(next));
    if (rate) return Spoken{rate->text(before_noun), 2};
  }
  if (amount && !amount->unit.empty()) return Spoken{amount->text(before_noun)};
  const bool ratio = is_letter(core[0]) && core.find('/') != core.npos;
  if (ratio && (core.find('^') != core.npos || tokens.before(i).find('^') != core.npos)) {
    const std::string unit = unit_words(core, false);  // "m/s^2", "10^8 m/s"
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
  if (next == "ft" && is_digits(tokens.after(i + 1), 1, 2) && tokens.after(i + 2) == "in") {
    words += one ? " foot " : " feet ";
    return Spoken{words + cardinal_words(tokens.core(i + 2)) + " inches", 4};
  }
  const UnitFound unit = unit_after(tokens, i, 1, one);
  if (unit.used == 0) return {};
  return Spoken{words + ' ' + unit.words, 1 + unit.used};
}

/// The x in "5 in. x 3 in.", "2 m x 3 m".
bool is_between_lengths(const Tokens& tokens, size_t i) {
  if (i < 2 || (tokens.core(i) != "x" && tokens.core(i) != "\xD7") || !is_number(tokens.after(i)))
    return false;
  const Token& unit = tokens[i - 1];
  const bool near = unit.close == 0 || unit.close == '.';
  return near && !unit.closes && is_number(tokens.before(i - 1)) &&
         !unit_words(unit.core, true).empty();
}

Reading read_product(const Tokens& tokens, size_t i) {
  if (is_between_lengths(tokens, i)) return Spoken{"by"};
  const std::string_view core = tokens.core(i);
  if (is_digits(core, 1, 4) && tokens.after(i) == "x") {  // "9 x 13 inch"
    const std::string_view second = tokens.after(i + 1);
    const std::string text =
        std::string(core) + 'x' + std::string(second.substr(0, second.find('-')));
    const Reading spaced = read_measured_product(tokens, i, 3, text);
    const bool measured = spaced && (second.find('-') != second.npos || spaced->used > 3 ||
                                     listed(" inch inches foot feet pan ", tokens.after(i + 2)));
    return measured ? spaced : Reading();
  }
  return read_measured_product(tokens, i, 1, core.substr(0, core.find('-')));
}

Reading read_fraction(const Tokens& tokens, size_t i) {
  if (auto reading = read_rating(tokens.core(i))) return reading;
  if (auto reading = read_joined_fraction(tokens, i)) return reading;
  const std::string_view core = tokens.core(i);
  const auto fraction = fraction_of(core);
  if (!fraction) return {};
  if (core == "24/7") return Spoken{"twenty four seven"};
  if (core == "9/11") return Spoken{"nine eleven"};
  const auto [top, bottom] = *fraction;
  if (tokens.after(i) == "Hz") {  // "50/60 Hz"
    return Spoken{cardinal_words(std::to_string(top)) + ' ' +
                      cardinal_words(std::to_string(bottom)) + " hertz",
                  2};
  }
  if (is_odds(tokens, i, *fraction)) {
    return Spoken{cardinal_words(std::to_string(top)) + " to " +
                  cardinal_words(std::to_string(bottom))};
  }
  if (top == bottom && !is_rated(tokens, i, *fraction)) {  // "50/50"
    const std::string side = cardinal_words(std::to_string(top));
    return Spoken{side + ' ' + side};
  }
  const bool rated =
      ((bottom == 10 || bottom == 100) && top != 1) || is_rated(tokens, i, *fraction);
  if (rated) {
    return Spoken{cardinal_words(std::to_string(top)) + " out of " +
                  cardinal_words(std::to_string(bottom))};
  }
  std::string words = fraction_words(top, bottom);
  const UnitFound unit = unit_after(tokens, i, 1, true);
  add(words, unit.words);
  return Spoken{words, 1 + unit.used};
}

Reading read_term(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (!core.ends_with('x') || !is_number(core.substr(0, core.size() - 1))) return {};
  const auto is_sign = [&](std::string_view sign) {
    return sign == "=" || sign == "+" || (listed(" - * < > ", sign) && is_equation(tokens));
  };
  if (!is_sign(tokens.before(i)) && !is_sign(tokens.after(i))) return {};
  return Spoken{cardinal_words(core.substr(0, core.size() - 1)) + " X"};
}

Reading read_range(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (std::string two = two_decades(core, tokens.before(i), tokens.after(i)); !two.empty())
    return Spoken{two};
  size_t at = core.find(kEnDash);
  if (at == core.npos) at = core.find('-', 1);
  // "10 – 12", "5% - 10%"; but "3 - 2 = 1" is arithmetic.
  const std::string_view sign = tokens.after(i);
  const bool dash = sign == std::string_view("\x1E") || sign == "-";
  if (at == core.npos && dash && tokens.before(i) != "=" && tokens.after(i + 2) != "=") {
    const std::string decades =
        two_decades(std::string(core) + '-' + std::string(tokens.after(i + 1)), {}, {});
    if (!decades.empty()) return Spoken{decades, 3};
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
    const UnitFound unit = unit_after(tokens, i, 1, false);
    add(words, unit.words);
    used += unit.used;
  }
  return Spoken{words, used};
}

/// Whether token i, a number with noughts before it, follows what counts the parts of a book.
bool counts_parts(const Tokens& tokens, size_t i) {
  constexpr std::string_view kParts =
      " chapter part volume book section act scene episode season lesson track canto verse page"
      " day week step level appendix figure table unit module vol ch chap ep pt pg no disc disk cd "
      "dvd ";
  const std::string_view core = tokens.core(i);
  if (i == 0 || core.find_first_not_of('0') == core.npos) return false;
  if (i > 2 && tokens.core(i - 1) == "of" && tokens.core(i - 2)[0] == '0') {  // "Part 02 of 03"
    return counts_parts(tokens, i - 2);
  }
  const char close = tokens[i - 1].close;
  return (close == 0 || close == '.') && !tokens[i - 1].closes &&
         listed(kParts, lower(tokens.core(i - 1)));
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
  if (whole && listed(" st nd rd th ", end)) return Spoken{ordinal_words(value_of(digits))};
  if (core.starts_with('\'') && is_digits(core.substr(1), 2, 2)) {
    return Spoken{core[1] == '0' ? "oh " + digit_words(core.substr(2))
                                 : cardinal_words(core.substr(1))};
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
