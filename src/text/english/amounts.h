// The reading of one amount. For text/english only. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrinx::english {

/// The sign of a currency that stands at the beginning; "" for none.
std::string_view leading_currency(std::string_view core);
/// "€", "$", "USD": the whole of `sign`.
bool is_currency(std::string_view sign);
/// Whether a sign of a currency stands before or after.
bool is_money(std::string_view core);

/// An amount written as one token.
struct Amount {
  std::string number;     ///< as written, without a sign before it
  std::string words;      ///< of the number and its magnitude
  std::string unit;       ///< words; "" for a plain number
  std::string singular;   ///< the unit as it stands before a noun
  std::string cents;      ///< "fifty cents"
  std::string_view size;  ///< "million" of money; in the words as well
  bool negative = false;

  std::string text(bool before_noun = false) const;
};

/// "$5.20", "€3bn", "10km/h", "50%", "20°C", "-5"; `size` is a magnitude that follows as a word.
std::optional<Amount> parse_amount(std::string_view core, std::string_view size = {});

/// "/month", "/hr", "/1K" behind an amount: "per month"; "" for anything else.
std::string per_words(std::string_view rest);

/// "million" for "m", "M", "mn" or "million"; "" for none.
std::string_view magnitude(std::string_view word);

}  // namespace syrinx::english
