// Reads one amount. For text/english only. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx::english {

/// Returns the currency sign at the beginning; "" if there is none.
std::string_view leading_currency(std::string_view core);
/// Returns whether all of `sign` is a currency: "€", "$", "USD".
bool is_currency(std::string_view sign);
/// Returns whether a currency sign is at the beginning or the end.
bool is_money(std::string_view core);

/// An amount written as one token.
struct Amount {
  std::string number;     ///< the number as written, without a currency sign
  std::string words;      ///< words of the number and its magnitude
  std::string unit;       ///< words of the unit; "" for a plain number
  std::string singular;   ///< words of the unit before a noun
  std::string cents;      ///< cents in words: "fifty cents"
  std::string_view size;  ///< magnitude of money ("million"); also contained in `words`
  bool negative = false;

  std::string text(bool before_noun = false) const;
};

/// Parses "$5.20", "€3bn", "10km/h", "50%", "20°C", "-5". `size`: a magnitude in the next word.
std::optional<Amount> parse_amount(std::string_view core, std::string_view size = {});

/// Returns words for "/month", "/hr", "/1K" after an amount: "per month"; "" for anything else.
std::string per_words(std::string_view rest);

/// Returns "million" for "m", "M", "mn" or "million"; "" if it is not a magnitude.
std::string_view magnitude(std::string_view word);

}  // namespace syrinx::english
