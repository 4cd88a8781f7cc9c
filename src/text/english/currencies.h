// Currencies: their signs, codes and names. For text/english only. Pure functions.
#pragma once

#include <string_view>

namespace syrinx::english {

struct Currency {
  std::string sign;         ///< folded (fold.h), or a code
  std::string one, many;    ///< its name: "dollar", "dollars"
  std::string cent, cents;  ///< of its hundredth; "" where it has none
};

/// The currency whose sign `core` begins with, its code with a digit behind it included ("NOK50");
/// nullptr for none.
const Currency* leading_currency_of(std::string_view core);
/// The currency whose sign or code is all of `text`; nullptr for none.
const Currency* currency_of(std::string_view text);

/// The byte that fold() writes for a currency's sign that ASCII lacks; 0 for another character.
char currency_byte(char32_t code);

}  // namespace syrinx::english
