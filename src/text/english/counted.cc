#include "text/english/counted.h"

#include <algorithm>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/spelling.h"
#include "text/english/units.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

/// Returns whether a word after "the $5 million" may be a verb or another word that begins no noun
/// phrase: "went", "helped", "that", "more".
bool may_be_verb(std::string_view word) {
  if (word.ends_with("ed") || word.ends_with("ly")) return true;
  return listed(word_lists().after_amounts, word);
}

bool is_article(std::string_view word) { return word == "a" || word == "A" || word == "an"; }

/// Finds units of two words, with or without full stops: "sq. ft.", "fl oz", "deg C".
UnitFound unit_of_two(const Tokens& tokens, size_t at, bool one) {
  const std::string_view first = tokens.core(at), second = tokens.core(at + 1);
  const bool near = tokens.joined(at) || (at + 1 < tokens.size() && tokens[at].close == '.');
  if (near && first == "deg" && (second == "C" || second == "F")) {
    return {unit_words(second == "C" ? "degC" : "degF", one), 2};
  }
  if (near && first == "mm" && second == "Hg") return {unit_words("mmHg", one), 2};
  const std::string unit = near ? unit_words(second, one) : std::string();
  if (unit.empty()) return {};
  if (first == "sq" || first == "square") return {"square " + unit, 2};
  if (first == "cu" || first == "cubic") return {"cubic " + unit, 2};
  if (first == "fl" && second == "oz") return {"fluid " + unit, 2};
  return {};
}

/// Returns whether a letter after `word` and a number is a name: "Section 5 A" has no amperes.
bool is_lettered(std::string_view word) { return listed(word_lists().lettered, lower(word)); }

/// Returns whether a letter after token i means thousand or billion: "300 K" of money or people, "7
/// B parameters".
bool is_count(const Tokens& tokens, size_t i) {
  return listed(word_lists().payment_words, lower(tokens.before(i))) ||
         listed(word_lists().counted_things, tokens.after(i + 1));
}

/// Finds the unit that begins with token `at`: "km / h", "L/100 km". `one`: returns its singular.
/// `letters`: a single letter that may also be a name counts as a unit.
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

}  // namespace

bool stands_before_noun(const Tokens& tokens, size_t i, size_t used) {
  const size_t last = i + used - 1;
  const bool glued = is_letter(tokens[last].core.back()) && all(tokens.core(last + 1), is_lower);
  const bool dotted =
      (used > 1 || glued) && tokens[last].close == '.' && !tokens[last].closes;  // "12oz. can"
  const std::string_view next = dotted ? tokens.core(last + 1) : tokens.after(last);
  if (listed(" bill bills note notes coin coins fee fine tip dash sprint relay freestyle lens jack "
             "bulb charger adapter battery cable cans bottle bottles bag bags jar jars ",
             next)) {
    return true;
  }
  const std::string before = lower(tokens.before(i));
  const bool is = listed(" it's that's he's she's there's here's what's who's let's ", before);
  const bool owned =
      (before.ends_with("'s") && !is) ||
      listed(
          " the its their his her our my your this that these those two three four five six ten ",
          before);
  const bool counted = listed(" per x \xD7 ", before);  // "per 100g serving", "3 x 400g tins"
  if (!is_article(before) && !owned && !counted) return false;
  if (!all(next, is_lower) ||
      listed(" of in on at to for and or is was per from by with than before after as but ",
             next) ||
      (next == "x" && !is_article(before)))
    return false;
  return !owned || !may_be_verb(next);
}

UnitFound unit_behind(const Tokens& tokens, size_t i, bool one) {
  const std::string_view next = tokens.after(i);
  if (next.empty()) return {};
  const char behind = i + 2 < tokens.size() ? tokens.core(i + 2)[0] : ' ';
  const bool direction = listed(" N S E W ", next) && tokens[i + 1].close == '.' &&
                         (is_upper(behind) || is_digit(behind));  // "100 N. 3rd Ave."
  if (direction) return {};
  if (UnitFound two = unit_of_two(tokens, i + 1, one); two.used > 0) return two;
  const bool ends = i + 2 >= tokens.size();
  const bool sized =
      listed(" wide long tall deep thick high across ", tokens.after(i + 1));  // "5 in wide"
  const bool dotted = tokens[i + 1].close == '.';
  const bool measured =  // "it is 5 in.", but not "we let 5 in."
      listed(
          " is are was were be measures measured grew grows rose fell by x of to about only than "
          "over under nearly almost roughly exactly another ",
          lower(tokens.before(i)));
  const bool inches = next == "in" && (dotted ? !ends || measured : ends || sized);
  if (inches) return {unit_words(next, one), 1};
  if (next == "c" && tokens[i + 1].dotted && !ends && all(tokens.core(i + 2), is_lower))
    return {one ? "cup" : "cups", 1};  // "2 c. flour"
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

UnitFound unit_after(const Tokens& tokens, size_t i, size_t used, bool one) {
  UnitFound found = unit_behind(tokens, i + used - 1, one);
  const bool before_noun = found.used > 0 && stands_before_noun(tokens, i, used + found.used);
  return before_noun && !one ? unit_behind(tokens, i + used - 1, true) : found;
}

std::string behind_hyphen(std::string_view text) {
  std::string words;
  for (const std::string_view part : split(text, '-')) {
    if (!all(part, is_letter)) return {};
    const std::string unit = unit_words(part, true);
    add(words, unit.empty() ? word_words(part) : unit);
  }
  return words;
}

}  // namespace syrinx::english
