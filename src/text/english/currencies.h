// Currencies: their signs, codes and names. For text/english only. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace syrinx::english {

struct Currency {
  std::string sign;         ///< the sign as folded by fold.h, or a code like "USD"
  std::string one, many;    ///< singular and plural of its name: "dollar", "dollars"
  std::string cent, cents;  ///< names of its hundredth part; "" if it has no hundredth part
};

/// Returns the currency with which `core` begins, also as a code before a digit ("NOK50"). Returns
/// nullptr if `core` begins otherwise.
const Currency* leading_currency_of(std::string_view core);
/// Returns the currency whose sign or code equals `text`; nullptr for any other text.
const Currency* currency_of(std::string_view text);

/// Returns the byte that fold() writes for a currency sign outside ASCII; 0 for other characters.
char currency_byte(char32_t code);

}  // namespace syrinx::english
