// Currencies: their signs, codes and names. For text/english only. Pure functions.
#pragma once

#include <string_view>

namespace syrinx::english {

struct Currency {
  std::string sign;         ///< the sign, folded (fold.h), or a code
  std::string one, many;    ///< its name: "dollar", "dollars"
  std::string cent, cents;  ///< name of a hundredth of it; "" for a currency without such a part
};

/// Returns the currency at the beginning of `core`, also a code before a digit ("NOK50"); nullptr
/// if there is none.
const Currency* leading_currency_of(std::string_view core);
/// Returns the currency whose sign or code is all of `text`; nullptr if there is none.
const Currency* currency_of(std::string_view text);

/// Returns the byte that fold() writes for a currency sign outside ASCII; 0 for other characters.
char currency_byte(char32_t code);

}  // namespace syrinx::english
