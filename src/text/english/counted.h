// Finds the unit after a number, and the noun that an amount belongs to. For text/english only.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Returns whether the amount, `used` tokens from token i on, stands before a noun: "a $5 meal",
/// "$100 bill", "a 5 km run", "an 8 fl. oz. can".
bool stands_before_noun(const Tokens& tokens, size_t i, size_t used = 1);

/// A unit, and how many tokens it has; 0 tokens means that no unit was found.
struct UnitFound {
  std::string words = {};
  size_t used = 0;
};

/// Finds the unit that follows token i. `one`: returns the unit's name in the singular.
UnitFound unit_behind(const Tokens& tokens, size_t i, bool one);
/// Finds the unit after a number of `used` tokens at i; singular before a noun: "a 10 lb bag".
UnitFound unit_after(const Tokens& tokens, size_t i, size_t used, bool one);

/// Returns the words that follow a number and a hyphen: "inch", "cup", "year-old". Returns "" if
/// the text has other characters than words.
std::string behind_hyphen(std::string_view text);

}  // namespace syrinx::english
