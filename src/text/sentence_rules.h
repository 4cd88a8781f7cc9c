// The characters and words that decide where sentences end; for text/sentences and text/english.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Kinds of marks at the end of a sentence.
enum class Ending { kNone, kDot, kEllipsis, kStrong, kWide };

/// kWide: marks of writing without spaces, which end a sentence wherever they stand.
Ending ending_of(char32_t code);
/// Quotes and brackets that close, and marks of emphasis.
bool is_closer(char32_t code);
/// Characters that may stand before the first word of a sentence.
bool is_opener(char32_t code);
/// Letters written without spaces between words.
bool is_wide_letter(char32_t code);

/// How much a mark within a sentence parts it.
enum class Clause { kNone, kWeak, kStrong };
/// How much a mark parts a sentence; kNone for other characters.
Clause clause_of(char32_t code);
/// Whether it is a mark within sentences of scripts without spaces.
bool is_wide_clause(char32_t code);

/// Kinds of words before a full stop. Words come without the last stop: "e.g".
enum class Abbreviation {
  kNone,
  kNever,      ///< a sentence does not end here: "Dr"
  kNumber,     ///< not when a number follows: "No"
  kPart,       ///< of a book; nor when a Roman numeral follows: "Vol"
  kSometimes,  ///< when a word follows that sentences begin with: "Inc"
  kUnit,       ///< behind a number, only when a capital follows: "in"
};
/// Returns the kind of a word; kNone for other words.
Abbreviation abbreviation_of(std::string_view word);

/// Whether a word in small letters may be a Roman numeral: "iv".
bool may_be_numeral(std::string_view word);

/// Whether a capitalised word (here in small letters) is one that sentences often begin with.
bool is_starter(std::string_view word);

}  // namespace syrinx
