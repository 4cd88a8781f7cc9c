// Characters and words that determine where sentences end; for text/sentences and text/english.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Kinds of marks at the end of a sentence.
enum class Ending { kNone, kDot, kEllipsis, kStrong, kWide };

/// Returns the kind of a mark. kWide: a mark of a script without spaces, which always ends a
/// sentence.
Ending ending_of(char32_t code);
/// Returns whether a character is a closing quote or bracket, a mark of emphasis like *, or a
/// raised digit.
bool is_closer(char32_t code);
/// Returns whether a character may precede the first word of a sentence.
bool is_opener(char32_t code);
/// Returns whether a character is a letter of a script without spaces between words.
bool is_wide_letter(char32_t code);

/// How strongly a mark divides a sentence.
enum class Clause { kNone, kWeak, kStrong };
/// Returns how strongly a mark divides a sentence; kNone for other characters.
Clause clause_of(char32_t code);
/// Returns whether a character is a mark within sentences of scripts without spaces.
bool is_wide_clause(char32_t code);

/// Kinds of words before a full stop. The words lack their last full stop: "e.g".
enum class Abbreviation {
  kNone,
  kNever,     ///< never ends a sentence: "Dr"
  kNumber,    ///< does not end a sentence if a number follows: "No"
  kNumbered,  ///< does not end a sentence between two numbers: "Tim" in "2 Tim. 1:7"
  kPart,      ///< does not end a sentence if a number or Roman numeral follows: "Vol"
  kDay,  ///< ends a sentence before a capital, except that of a month or part of the day: "Wed"
  kSometimes,  ///< ends a sentence only if a capitalised is_starter() follows: "Inc"
  kUnit,       ///< after a number, does not end a sentence before a small letter: "in"
};
/// Returns the kind of a word; kNone for other words.
Abbreviation abbreviation_of(std::string_view word);

/// Returns whether a bare number after the full stop of this word is a footnote: "powder.1".
bool may_have_footnote(std::string_view word);

/// Returns whether a word in small letters names an era of years: "ad", "bce".
bool is_era(std::string_view word);

/// Returns whether a word in small letters may be a Roman numeral: "iv".
bool may_be_numeral(std::string_view word);

/// Returns whether a word in small letters follows the name of a day: "jan", "night".
bool may_follow_day(std::string_view word);

/// Returns whether sentences often begin with this word, given in small letters.
bool is_starter(std::string_view word);

}  // namespace syrinx
