// Units of measure: finds the name of a unit from a table of units and a table of prefixes. For
// text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string>
#include <string_view>

namespace syrinx::english {

/// Where the sign of a unit may stand relative to its number.
enum class UnitPlace {
  kAny,
  kGlued,   ///< directly after the number: "5x", "5in"; after a space the sign is a word
  kApart,   ///< after a space: "5 A"; directly after the number the sign is a letter: "row 5A"
  kLetter,  ///< like kApart, but not after a word like "section": "Section 5 A"
  kPer,     ///< only after a slash: "0.2 ct/kWh"
};

/// A unit in words, and where its sign may stand.
struct UnitName {
  std::string words;  ///< "" for an unknown sign
  UnitPlace place = UnitPlace::kAny;
};

/// Returns a unit's name: "km/h" -> "kilometers per hour". `one`: the name shall be singular.
UnitName unit_name(std::string_view sign, bool one);

/// Returns the words of a unit directly after its number; "" for an unknown sign.
std::string unit_words(std::string_view sign, bool one);

/// Returns "per hour" for "h", "per one hundred kilometers" for "100km"; "" for other texts.
std::string per_unit(std::string_view sign);

/// Returns whether a word is the name of a unit: "liters", "kilometer", "percent".
bool is_unit_word(std::string_view word);

}  // namespace syrinx::english
