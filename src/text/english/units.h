// Units of measure: their names from their signs, by one table of units and one of prefixes.
// For text/english only. Pure functions on folded text (fold.h).
#pragma once

#include <string>
#include <string_view>

namespace syrinx::english {

/// How a sign may stand beside its number.
enum class UnitPlace {
  kAny,
  kGlued,   ///< "5x", "5in"; apart from the number the sign is a word
  kApart,   ///< "5 A"; without a blank the sign is a letter: "row 5A"
  kLetter,  ///< as kApart, but not behind a word that letters name: "Section 5 A"
  kPer,     ///< "0.2 ct/kWh"; only with a slash
};

/// A unit in words, and how its sign stands.
struct UnitName {
  std::string words;  ///< "" for an unknown sign
  UnitPlace place = UnitPlace::kAny;
};

/// The name of a unit: "km/h" -> "kilometers per hour", "m^2" and "m2" -> "square meters".
UnitName unit_name(std::string_view sign, bool one);

/// The words of a unit that touches its number; "" for an unknown sign.
std::string unit_words(std::string_view sign, bool one);

/// "per hour" for "h", "per one hundred kilometers" for "100km"; "" for anything else.
std::string per_unit(std::string_view sign);

/// Whether a word is the name of a unit: "liters", "kilometer", "percent".
bool is_unit_word(std::string_view word);

}  // namespace syrinx::english
