// Reads fractions, and what looks like fractions: ratings ("4/5 stars"), odds, seasons.
#include <algorithm>
#include <optional>

#include "text/english/chars.h"
#include "text/english/counted.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/units.h"

namespace syrinx::english {
namespace {

struct Fraction {
  int64_t top, bottom;
};

/// Parses "1/2", "24/7".
std::optional<Fraction> fraction_of(std::string_view text) {
  const auto parts = split(text, '/');
  if (parts.size() != 2 || !is_digits(parts[0], 1, 4) || !is_digits(parts[1], 1, 4)) return {};
  const Fraction found{value_of(parts[0]), value_of(parts[1])};
  return found.bottom > 0 ? std::optional(found) : std::nullopt;
}

/// Returns whether the fraction is a part of a whole, as in measures and recipes. A date or a score
/// is not a part.
bool is_part(const Fraction& fraction) {
  return fraction.top < fraction.bottom &&
         listed(" 2 3 4 5 6 8 10 12 16 32 64 ", std::to_string(fraction.bottom));
}

/// Reads "1", "1/2", "1 1/2" and "1-1/2"; "" for anything else.
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

/// Reads "1-1/2", "1/4-1/2", "1 1/2-2" as one number or as a range.
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

/// Appends the unit that follows the `used` tokens from token i: the sign in 4 1/4", or a word.
Spoken with_unit(std::string words, const Tokens& tokens, size_t i, size_t used, bool part) {
  const Token& last = tokens[i + used - 1];
  if (last.quote == '"' && !last.in_quotes) {
    const bool one = part || stands_before_noun(tokens, i, used);
    return {words + (one ? " inch" : " inches"), used};
  }
  const size_t next = i + used;
  if (tokens.after(next - 1) == "in" && next + 1 == tokens.size() && tokens[next].dotted)
    return {words + (part ? " inch" : " inches"), used + 1};  // "5/8 in."
  const UnitFound unit = unit_after(tokens, i, used, part);
  add(words, unit.words);
  return {words, used + unit.used};
}

/// Reads a fraction with a whole number, another fraction or a unit: "1 1/2 cups", "1/4-1/2 tsp",
/// "1 1/2-inch".
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
      longest = with_unit(std::move(words), tokens, i, used, part);
    }
    if (word < text.size() || tokens.after(i + used - 1).empty()) break;
    text += ' ';
  }
  return longest;
}

/// Returns whether one of the words stands one to three tokens before token i.
bool follows(const Tokens& tokens, size_t i, std::string_view words) {
  for (size_t back = 1; back <= 3 && back <= i; ++back) {
    if (tokens[i - back].close != 0 && tokens[i - back].close != ':') return false;
    if (listed(words, lower(tokens.core(i - back)))) return true;
  }
  return false;
}

/// Returns whether the fraction is the odds of a bet: "100/1", "odds of 5/2", "the 9/4 favourite".
bool is_odds(const Tokens& tokens, size_t i, const Fraction& fraction) {
  if (fraction.bottom == 1 && fraction.top > 1) return true;
  return follows(tokens, i, " odds priced ") ||
         listed(" odds favourite favorite outsider shot underdog ", tokens.after(i));
}

/// Returns whether the fraction is points out of a maximum: "4/5 stars", "score: 18/20".
bool is_rated(const Tokens& tokens, size_t i, const Fraction& fraction) {
  const std::string_view next = tokens.after(i);
  if (next == "of" || fraction.top > fraction.bottom) return false;
  return listed(" star stars points marks rating score review ", next) ||
         (fraction.bottom > 3 &&
          follows(tokens, i, " rate rates rated rating score scores scored grade graded "));
}

/// Reads "4.5/5" and a season: "2023/24", "1999/2000".
Reading read_rating(std::string_view core) {
  const auto parts = split(core, '/');
  if (parts.size() != 2 || !is_digits(parts[1])) return {};
  const bool whole = parts[0].find('.') == core.npos;
  if (!whole && is_number(parts[0]) && listed(" 4 5 10 20 100 ", parts[1])) {
    return Spoken{cardinal_words(parts[0]) + " out of " + cardinal_words(parts[1])};
  }
  const bool season = is_digits(parts[0], 4, 4) && parts[1].size() == 2 && parts[0] > "1800" &&
                      (value_of(parts[0]) + 1) % 100 == value_of(parts[1]);
  const bool years = is_digits(parts[0], 4, 4) && is_digits(parts[1], 4, 4) && parts[0] > "1800" &&
                     value_of(parts[0]) + 1 == value_of(parts[1]);
  return season || years ? Reading(Spoken{number_words(parts[0]) + ' ' + number_words(parts[1])})
                         : Reading();
}

/// Reads the frequencies of a device: "50/60 Hz", "50/60Hz".
Reading read_frequencies(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  const bool glued = core.ends_with("Hz");
  if (glued) core.remove_suffix(2);
  const auto parts = split(core, '/');
  if (parts.size() != 2 || !is_digits(parts[0], 1, 4) || !is_digits(parts[1], 1, 4)) return {};
  if (!glued && tokens.after(i) != "Hz") return {};
  return Spoken{cardinal_words(parts[0]) + ' ' + cardinal_words(parts[1]) + " hertz",
                glued ? size_t{1} : size_t{2}};
}

/// Reads a blood pressure: "120/80 mmHg".
Reading read_pressure(const Tokens& tokens, size_t i) {
  const auto parts = split(tokens.core(i), '/');
  if (parts.size() != 2 || !is_digits(parts[0], 2, 3) || !is_digits(parts[1], 2, 3)) return {};
  const bool apart = tokens.after(i) == "mm" && tokens.after(i + 1) == "Hg";
  if (tokens.after(i) != "mmHg" && !apart) return {};
  return Spoken{cardinal_words(parts[0]) + " over " + cardinal_words(parts[1]) + ' ' +
                    unit_words("mmHg", false),
                apart ? size_t{3} : size_t{2}};
}

}  // namespace

Reading read_fraction(const Tokens& tokens, size_t i) {
  if (tokens.core(i).starts_with("f/") && is_number(tokens.core(i).substr(2))) {
    return Spoken{"F " + cardinal_words(tokens.core(i).substr(2))};  // the aperture "f/2.8"
  }
  if (auto reading = read_frequencies(tokens, i)) return reading;
  if (auto reading = read_pressure(tokens, i)) return reading;
  if (auto reading = read_rating(tokens.core(i))) return reading;
  if (auto reading = read_joined_fraction(tokens, i)) return reading;
  const std::string_view core = tokens.core(i);
  if (core == "24/7/365") return Spoken{"twenty four seven three sixty five"};
  const auto fraction = fraction_of(core);
  if (!fraction && core.starts_with("1/") && core.ends_with('s')) {  // "1/60s"
    const auto part = fraction_of(core.substr(0, core.size() - 1));
    if (part && part->bottom > 1) return Spoken{fraction_words(1, part->bottom) + " second"};
  }
  if (!fraction && (core.ends_with("rds") || core.ends_with("ths") || core.ends_with("th"))) {
    const auto part = fraction_of(core.substr(0, core.find_first_of("rt")));  // "2/3rds"
    if (part && part->top < part->bottom) return Spoken{fraction_words(part->top, part->bottom)};
  }
  if (!fraction) return {};
  if (core == "24/7") return Spoken{"twenty four seven"};
  if (core == "9/11") return Spoken{"nine eleven"};
  if (core == "7/11") return Spoken{"seven eleven"};
  const auto [top, bottom] = *fraction;
  if (tokens.after(i) == "time" && top > 1 && (bottom == 2 || bottom == 4 || bottom == 8)) {
    return Spoken{cardinal_words(std::to_string(top)) + ' ' +
                  cardinal_words(std::to_string(bottom))};  // "in 6/8 time"
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
  if (top > 999 && bottom > 99) {  // "Regulation (EU) 2016/679"
    const auto parts = split(core, '/');
    return Spoken{number_words(parts[0]) + " slash " + number_words(parts[1])};
  }
  return with_unit(fraction_words(top, bottom), tokens, i, 1, true);
}

}  // namespace syrinx::english
