// The things that numbers count: the unit that stands behind one, the noun that it belongs to. For
// text/english only. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "text/english/tokens.h"

namespace syrinx::english {

/// Whether the amount of `used` tokens at i belongs to a noun: "a $5 meal", "$100 bill", "a 5 km
/// run", "an 8 fl. oz. can".
bool stands_before_noun(const Tokens& tokens, size_t i, size_t used = 1);

/// A unit and how many tokens it takes; none where there is no unit.
struct UnitFound {
  std::string words = {};
  size_t used = 0;
};

/// The unit that begins behind token i.
UnitFound unit_behind(const Tokens& tokens, size_t i, bool one);
/// The same behind the number at i, which takes `used` tokens; one before a noun: "a 10 lb bag".
UnitFound unit_after(const Tokens& tokens, size_t i, size_t used, bool one);

/// "inch", "cup", "year-old" behind a number and a hyphen; "" for anything but words.
std::string behind_hyphen(std::string_view text);

}  // namespace syrinx::english
