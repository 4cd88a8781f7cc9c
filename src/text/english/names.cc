// Reads abbreviations and Roman numerals, which depend on the words around them.
#include <algorithm>
#include <array>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"
#include "text/sentence_rules.h"

namespace syrinx::english {
namespace {

/// The condition under which an abbreviation applies.
enum class When {
  kAlways,
  kDotted,   ///< applies if a full stop follows
  kNumber,   ///< applies if a number follows
  kSmall,    ///< applies if a number follows, but not if capitalised within a sentence: "Ed. 5"
  kLarge,    ///< applies if a number of three digits or more follows: "pop. 5,000", "b. 1950"
  kCited,    ///< applies if a number follows, but not after a name: "Under Art. 5", "Modern Art. 5"
  kFirst,    ///< like kWithin, but only at the beginning of a clause: "Min. order"
  kWithin,   ///< applies if a full stop and a word in small letters follow
  kPart,     ///< applies if a number or Roman numeral follows, for parts of books: "Vol. IV"
  kName,     ///< applies if a capitalised word follows
  kCapital,  ///< applies with a capital, if a full stop or a capitalised word follows
  kAfter,    ///< applies after a capitalised word or an ordinal, if a full stop follows
  kState,    ///< applies with a capital, between a comma and a full stop: "Boston, Mass."
  kStreet,   ///< like kAfter, but a capital may replace the full stop: "Oak Rd"
};

struct ShortForm {
  std::string sign, words;
  When when;
};

const std::vector<ShortForm>& abbreviations() {
  static const auto kRows =
      table_rows<ShortForm>(tables::abbreviations(), 3, 3, [](const Cells& c) {
        const size_t when =
            choice(c[2], {"always", "dotted", "number", "small", "large", "cited", "first",
                          "within", "part", "name", "capital", "after", "state", "street"});
        return ShortForm{c[0], c[1], static_cast<When>(when)};
      });
  return kRows;
}

bool is_name(std::string_view word) {
  const bool owned = word.size() > 2 && word[1] == '\'' && is_upper(word[2]);  // "O'Neil"
  return word.size() > 1 && is_upper(word[0]) && (is_letter(word[1]) || owned);
}

/// Returns whether the word is an ordinal or a name: "5th", "Main". A capital that only marks the
/// beginning of a sentence does not make a name.
bool is_place(std::string_view word) {
  const std::string small = lower(word);
  if (listed(word_lists().function_words, small)) return false;
  return is_name(word) || (is_digit(word.empty() ? ' ' : word[0]) && is_letter(word.back()));
}

/// Returns the core after token i, or "" if any mark but a full stop stands between them.
std::string_view next_name(const Tokens& tokens, size_t i) {
  if (i + 1 >= tokens.size() || tokens[i].closes || tokens[i + 1].opens) return {};
  return tokens[i].close == 0 || tokens[i].close == '.' ? tokens.core(i + 1) : std::string_view();
}

int roman_value(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, int>, 13> kParts = {{{"M", 1000},
                                                                               {"CM", 900},
                                                                               {"D", 500},
                                                                               {"CD", 400},
                                                                               {"C", 100},
                                                                               {"XC", 90},
                                                                               {"L", 50},
                                                                               {"XL", 40},
                                                                               {"X", 10},
                                                                               {"IX", 9},
                                                                               {"V", 5},
                                                                               {"IV", 4},
                                                                               {"I", 1}}};
  int value = 0;
  for (const auto& [sign, worth] : kParts) {
    int times = 0;
    while (text.starts_with(sign) && times < (sign.size() == 2 || worth % 10 == 5 ? 1 : 3)) {
      value += worth;
      text.remove_prefix(sign.size());
      ++times;
    }
  }
  return text.empty() ? value : 0;
}

/// Returns whether the word begins with two capitals: "GDPR", "PCB", "GDPR's".
bool is_acronym(std::string_view word) {
  return word.size() > 1 && is_upper(word[0]) && is_upper(word[1]);
}

/// Returns whether the word is a Roman numeral: "IV", "xii".
bool is_numeral(std::string_view word) { return numeral_value(word) > 0; }

/// Returns whether token i may be the initial of a name: "J" in "J. R. Ewing", "J.R". Reads no
/// later token, because late text is read when only two words follow.
bool is_initial(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  return !core.empty() && is_upper(core[0]) && (core.size() == 1 || core[1] == '.') &&
         tokens[i].dotted;
}

bool holds(When when, const Tokens& tokens, size_t i) {
  const bool dotted = tokens[i].dotted;
  const std::string_view next = next_name(tokens, i);
  switch (when) {
    case When::kAlways:
      return true;
    case When::kDotted:
      return dotted;
    case When::kNumber:  // but not for "C": only "c. 1950" means "circa"
      return dotted && !next.empty() && any(next, is_digit) && tokens.core(i) != "C";
    case When::kSmall: {
      const std::string_view before = tokens.before(i);
      const bool small = is_lower(tokens.core(i)[0]) || i == 0 || tokens[i].opens ||
                         any(before, is_digit) || is_acronym(before);
      return dotted && small && any(next, is_digit);
    }
    case When::kLarge: {
      const std::string_view core = tokens.core(i);
      const bool first = i == 0 || tokens[i].opens || tokens[i - 1].closes;
      const bool name = is_upper(core[0]) && (core.size() == 1 || !first);
      return dotted && !name && next.size() > 2 && is_digit(next[0]);
    }
    case When::kCited: {
      const std::string before = lower(tokens.before(i));
      const bool led =
          before.empty() || tokens[i].opens || any(before, is_digit) ||
          is_acronym(tokens.before(i)) ||
          listed(" see under of in by per to and or with from violates the also cf ", before);
      const bool numeral = next.size() > 1 && is_upper(next[0]) && is_numeral(next);
      return dotted && led && (any(next, is_digit) || numeral);
    }
    case When::kFirst:
      return dotted && !next.empty() && is_lower(next[0]) && next != "of" &&
             tokens.before(i).empty();
    case When::kWithin:
      return dotted && !next.empty() && is_lower(next[0]);
    case When::kPart:
      return dotted && (any(next, is_digit) || is_numeral(next));
    case When::kName:
      return is_upper(tokens[i].core[0]) && dotted && (is_name(next) || is_initial(tokens, i + 1));
    case When::kCapital:
      return is_upper(tokens[i].core[0]) && (dotted || is_name(next));
    case When::kState:
      return is_upper(tokens[i].core[0]) && dotted && i > 0 && tokens[i - 1].close == ',' &&
             is_upper(tokens.core(i - 1)[0]) && (tokens.core(i) != "Miss" || !is_name(next));
    case When::kStreet:
    case When::kAfter:
      if (!dotted && lower(next_name(tokens, i)) == "maria") return false;  // "Ave Maria"
      return (dotted || (when == When::kStreet && is_upper(tokens[i].core[0]))) && i > 0 &&
             (is_place(tokens.before(i)) || tokens.before(i) == "&" ||
              (tokens[i - 1].close == '.' && is_place(tokens.core(i - 1))));  // "Mass. Ave."
  }
  return false;
}

bool is_ordinal(std::string_view word) {
  return word.size() > 2 && is_digit(word[0]) &&
         listed(" st nd rd th ", word.substr(word.size() - 2)) &&
         is_digits(word.substr(0, word.size() - 2));
}

/// Returns whether token i is a point of the compass before the name of a street: "N. 3rd Ave.".
bool is_street_direction(const Tokens& tokens, size_t i) {
  if (i >= tokens.size() || tokens[i].close != '.' || !listed(" N S E W ", tokens.core(i))) {
    return false;
  }
  for (size_t k = i + 2; k < std::min(i + 5, tokens.size()); ++k) {
    if (listed(" st ave blvd rd dr ln street avenue boulevard road drive lane way ",
               lower(tokens.core(k)))) {
      return is_place(tokens.core(i + 1));
    }
    if (tokens[k].close != 0) return false;
  }
  return false;
}

/// Returns the name of a point of the compass: "NE" -> "northeast"; "" for other words.
std::string compass_name(std::string_view point) {
  if (!listed(" N S E W NE NW SE SW NNE ENE ESE SSE SSW WSW WNW NNW ", point)) return {};
  std::string name;
  for (const char c : point)
    name += c == 'N' ? "north" : c == 'S' ? "south" : c == 'E' ? "east" : "west";
  return point.size() < 3 ? name : name.insert(name.size() - 9, " ");  // "north northeast"
}

/// Reads "N. 3rd Ave.", "45 km NE of Hualien", "I-80 E".
Reading read_direction(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), before = tokens.before(i);
  std::string name = compass_name(core);
  if (name.empty()) return {};
  const bool far = tokens.after(i) == "of" && i > 1 && any(before, is_lower) &&
                   any(i > 1 ? tokens.core(i - 2) : before, is_digit);
  const bool glued = tokens.after(i) == "of" && any(before, is_digit);  // "45km NE of"
  const size_t hyphen = std::min(before.find('-'), before.size());
  const bool highway = core.size() == 1 && listed(" I US SR CA ", before.substr(0, hyphen)) &&
                       hyphen < before.size() && is_digits(before.substr(hyphen + 1));
  if (!far && !glued && !highway && !is_street_direction(tokens, i)) return {};
  return Spoken{std::move(name)};
}

/// Reads "Dr. Smith" and "Maple Dr.", "St. John" and "Main St.".
Reading read_doctor_or_saint(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (core != "Dr" && core != "St") return {};
  const bool after_place = is_place(tokens.before(i)) && tokens.before(i) != core;
  const bool before_name = is_name(next_name(tokens, i)) || is_initial(tokens, i + 1);
  const bool street = after_place && (!before_name || core == "St");
  if (core == "Dr") return Spoken{street ? "drive" : "doctor"};
  if (street) return Spoken{"street"};
  return before_name ? Reading(Spoken{"saint"}) : Spoken{"street"};
}

}  // namespace

bool has_listed_word(const Tokens& tokens, size_t i, std::string_view list) {
  for (size_t k = 0; k < std::min(tokens.size(), i + 3); ++k) {
    if (listed(list, lower(tokens.core(k)))) return true;
  }
  return false;
}

int numeral_value(std::string_view word) {
  if (word.empty() || word.size() > 9) return 0;
  std::string upper(word);
  if (upper == lower(word)) std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
  return roman_value(upper);
}

/// Reads "XIX century", "the XII and XIII centuries", "XVth" as ordinals.
Reading read_century(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  const size_t small = core.find_first_of("thsrnd");
  const bool marked =
      small != core.npos && small > 0 && listed(" th st nd rd ", core.substr(small));
  if (marked) core = core.substr(0, small);
  const int value = !core.empty() && core.size() <= 6 ? roman_value(core) : 0;
  if (value == 0 || value > 30) return {};
  const auto is_century = [](std::string_view word) {
    return listed(" century centuries cent ", lower(word));
  };
  const std::string_view next = tokens.after(i);
  const bool two = listed(" and or to ", next) && is_century(tokens.core(i + 3)) &&
                   roman_value(tokens.core(i + 2)) > 0;
  const bool century = is_century(next) || two;
  if (!century && !(marked && core.size() > 1)) return {};
  return Spoken{ordinal_words(value)};
}

/// Reads a year from 1000 on: "MMXXIV".
Reading read_roman_year(std::string_view core) {
  if (core.size() < 4 || core.size() > 12 || core[0] != 'M') return {};
  const int value = roman_value(core);
  if (value < 1000 || value > 2200) return {};
  return Spoken{number_words(std::to_string(value))};
}

bool is_numeral_letter(std::string_view core) { return core == "I" || core == "V" || core == "X"; }
bool is_small_numeral(std::string_view core) {
  return core.size() > 1 && core.find_first_not_of("IVX") == core.npos && roman_value(core) > 0;
}

/// Returns whether the numeral numbers a heading: "IV" as a whole sentence, "II. The Storm", "IV:
/// Results". A single "I." is the pronoun.
bool is_heading(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const Token& token = tokens[i];
  if (i > 0 || (core == "I" && token.close != 0)) return false;
  if (tokens.size() == 1) return is_numeral_letter(core) || is_small_numeral(core);
  return is_small_numeral(core) && (token.close == '.' || token.close == ':' || token.closes);
}

/// Returns whether another numeral is next to this numeral: "II, III and IV".
bool is_numeral_in_list(const Tokens& tokens, size_t i) {
  constexpr std::string_view kLinks = " and or to & ";
  const std::string_view core = tokens.core(i);
  const bool letter = is_numeral_letter(core);
  if (!letter && !is_small_numeral(core)) return false;
  const auto numeral = [&](size_t k) {  // a numeral of two letters may be an ordinary word
    return is_small_numeral(tokens.core(k)) || (!letter && is_numeral_letter(tokens.core(k)));
  };
  if (tokens[i].close == ',' && numeral(i + 1)) return true;
  if (listed(kLinks, tokens.after(i)) && numeral(i + 2)) return true;
  if (i == 0 || core == "I") return false;  // "Part II and I left"
  if (tokens[i - 1].close == ',' && numeral(i - 1)) return true;
  return i > 1 && listed(kLinks, tokens.before(i)) && numeral(i - 2);
}

/// Returns whether brackets around a small numeral make it the number of an item: "(i) wash, (ii)
/// dry", "ii) dry".
bool is_item(const Tokens& tokens, size_t i) {
  const auto numeral = [&](size_t k) {
    const std::string_view core = tokens.core(k);
    const bool plain =
        core.find_first_not_of("ivx") == core.npos || core.find_first_not_of("IVX") == core.npos;
    return tokens[k].bracketed && core.size() < 6 && plain && is_numeral(core);
  };
  if (!numeral(i)) return false;
  const std::string_view core = tokens.core(i);
  const bool begins = i == 0 || tokens[i].starts_line || tokens[i - 1].close == ';';
  const bool opens = tokens[i].opens || begins;
  const bool editor = core == "vi" && !begins && tokens[i - 1].close == 0 &&
                      !listed(word_lists().roman_parts, lower(tokens.core(i - 1)));
  if (opens && !editor && (core.size() > 1 || core == "i")) return true;
  for (size_t k = 0; k < tokens.size(); ++k) {  // a single v or x may be a letter
    if (k != i && tokens.core(k).size() > 1 && numeral(k)) {
      return opens || tokens[i - 1].close != 0;
    }
  }
  return false;
}

Reading read_roman(const Tokens& tokens, size_t i) {
  if (is_item(tokens, i)) {
    return Spoken{cardinal_words(std::to_string(numeral_value(tokens.core(i))))};
  }
  if (auto century = read_century(tokens, i)) return century;
  if (auto year = read_roman_year(tokens.core(i))) return year;
  std::string_view core = tokens.core(i);
  const bool owns = core.ends_with("'s");
  if (owns) core.remove_suffix(2);
  const std::string_view before = tokens.before(i);
  const bool behind_short = i > 0 && tokens[i - 1].close == '.' && !tokens[i].opens &&
                            (abbreviation_of(tokens.core(i - 1)) == Abbreviation::kPart ||
                             tokens.core(i - 1) == "Art");  // "Vol. II"
  const bool small =
      (core.size() > 1 || behind_short) && core.find_first_not_of("ivx") == core.npos;
  const bool part = behind_short || listed(word_lists().roman_parts, lower(before));
  std::string upper(core);
  if (small && part) std::transform(upper.begin(), upper.end(), upper.begin(), to_upper);
  const int value = core.size() <= 9 && !core.empty() ? roman_value(upper) : 0;
  if (value == 0) return {};
  const auto spoken = [owns](const std::string& words) {
    return Spoken{words + (owns ? "'s" : "")};
  };
  const std::string number = cardinal_words(std::to_string(value));
  const bool plain = upper.find_first_not_of("IVXL") == upper.npos;
  const bool ruler = is_name(before) && listed(word_lists().rulers, lower(before));
  if (is_heading(tokens, i) || is_numeral_in_list(tokens, i)) return spoken(number);
  if (upper.size() == 1) {
    if (!is_numeral_letter(upper)) return {};
    const bool titled =
        i > 1 && tokens.joined(i - 2) && listed(word_lists().titles, lower(tokens.core(i - 2)));
    if (part && (upper != "I" || behind_short || is_name(before))) return spoken(number);
    const bool ends = i + 1 == tokens.size();  // "He admired Napoleon I."
    if (ruler && (upper != "I" || titled || ends)) return spoken("the " + ordinal_words(value));
    return {};
  }
  if (part) return spoken(number);
  const bool heir = i > 1 && is_name(before) && tokens.core(i - 2).size() == 1 &&
                    tokens[i - 2].close == '.';  // "J. P. Morgan III"
  if (ruler || heir) return spoken("the " + ordinal_words(value));
  if (!plain || upper == "XL" || !(upper.size() > 2 || is_place(before))) return {};
  return spoken(number);
}

Reading read_abbreviation(const Tokens& tokens, size_t i) {
  if (auto reading = read_doctor_or_saint(tokens, i)) return reading;
  const std::string small = lower(tokens.core(i));
  for (const ShortForm& known : abbreviations()) {
    if (small == known.sign && holds(known.when, tokens, i)) {
      return Spoken{std::string(known.words)};
    }
  }
  if (tokens.core(i) == "v" && i > 0 && is_upper(tokens.core(i - 1)[0]) &&
      is_name(next_name(tokens, i))) {
    return Spoken{"versus"};  // "Roe v. Wade", "U.S. v. Nixon"
  }
  const std::string_view behind = next_name(tokens, i);
  if (tokens.core(i) == "v" && tokens[i].close == '.' && is_digits(behind, 1, 3)) {
    const bool book = has_listed_word(tokens, i, " ch chap chapter verse ");
    return Spoken{book ? "verse" : "version"};  // "Ch. 3, v. 16"
  }
  if (tokens[i].close != 0 && is_ordinal(tokens.before(i))) {  // "the 20th c.", "2nd ed."
    if (tokens.core(i) == "c") return Spoken{"century"};
    if (tokens.core(i) == "ed") return Spoken{"edition"};
  }
  if (auto direction = read_direction(tokens, i)) return direction;
  const std::string_view led = tokens.before(i);
  const bool ranked = is_name(led) || listed(word_lists().articles, lower(led)) ||
                      listed(" at from to of world seed ranked ", lower(led));
  if (tokens.core(i) == "No" && is_digits(tokens.after(i), 1, 4) &&
      (ranked || is_name(tokens.after(i + 1)))) {
    return Spoken{"number"};  // "No 10 Downing Street"
  }
  if (listed(" degrees degree ", tokens.before(i))) {  // "375 degrees F"
    if (tokens.core(i) == "F") return Spoken{"fahrenheit"};
    if (tokens.core(i) == "C") return Spoken{"celsius"};
  }
  if (small == "mk" && tokens.joined(i) && roman_value(tokens.core(i + 1)) > 0)
    return Spoken{"mark"};
  // "Sept." and "Jan." before anything but a day.
  const bool dotted = tokens[i].close == '.';
  const std::string_view name = calendar_name(tokens.core(i));
  if (dotted && name.size() > 4 && i + 1 < tokens.size()) return Spoken{lower(name)};
  return {};
}

}  // namespace syrinx::english
