// Reads one amount. For text/english only. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx::english {

/// Returns the currency sign at the beginning of a token. Returns "" if the token begins otherwise.
std::string_view leading_currency(std::string_view core);
/// Returns whether the whole text is the sign or code of a currency: "€", "$", "USD".
bool is_currency(std::string_view sign);
/// Returns whether the token begins or ends with a currency sign.
bool is_money(std::string_view core);

/// An amount written as one token.
struct Amount {
  std::string number;     ///< the number as written, without a currency sign
  std::string words;      ///< words of the number, including a magnitude like "million"
  std::string unit;       ///< words of the unit; "" for a plain number
  std::string singular;   ///< words of the unit before a noun: "dollar" in "five dollar bill"
  std::string cents;      ///< cents in words: "fifty cents"
  std::string_view size;  ///< "million" or another magnitude of money, which `words` also contains
  bool negative = false;

  std::string text(bool before_noun = false) const;
};

/// Parses "$5.20", "€3bn", "10km/h", "50%", "20°C", "-5". `size`: the magnitude in the next token.
std::optional<Amount> parse_amount(std::string_view core, std::string_view size = {});

/// Returns "per month" for "/month" after an amount, also for "/hr" and "/1K"; "" for other texts.
std::string per_words(std::string_view rest);

/// Returns "per person" for "pp" after a price, also for "pcm", "pw" and "pppn"; "" for other
/// texts.
std::string_view price_share(std::string_view word);

/// Returns "million" for "m", "M", "mn" or "million"; "" for a word that names no magnitude.
std::string_view magnitude(std::string_view word);

}  // namespace syrinx::english
