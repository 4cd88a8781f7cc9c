// Finds the unit after a number, and the noun that an amount belongs to. For text/english only.
// Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Returns whether the amount of `used` tokens at i belongs to a noun: "a $5 meal", "$100 bill", "a
/// 5 km run", "an 8 fl. oz. can".
bool stands_before_noun(const Tokens& tokens, size_t i, size_t used = 1);

/// A unit and its number of tokens; 0: there is no unit.
struct UnitFound {
  std::string words = {};
  size_t used = 0;
};

/// Finds the unit after token i.
UnitFound unit_behind(const Tokens& tokens, size_t i, bool one);
/// Finds the unit after the number of `used` tokens at i; singular before a noun: "a 10 lb bag".
UnitFound unit_after(const Tokens& tokens, size_t i, size_t used, bool one);

/// Returns the words after a number and a hyphen: "inch", "cup", "year-old"; "" for anything but
/// words.
std::string behind_hyphen(std::string_view text);

}  // namespace syrinx::english
