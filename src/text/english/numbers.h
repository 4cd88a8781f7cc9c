// Numbers as English words, and what counts as a number. Pure functions on folded text (fold.h).
// Words are in small letters without hyphens: "twenty five".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx::english {

/// Length of the number that `text` starts with, 0 for none: a sign, digits with a comma before
/// every three, or without; decimals.
size_t number_length(std::string_view text);
/// True for a number as written and nothing else: "1,250", "-3.5", ".5".
bool is_number(std::string_view text);
/// True for `least` to `most` digits and nothing else.
bool is_digits(std::string_view text, size_t least = 1, size_t most = 18);
/// The value of at most 18 digits.
int64_t value_of(std::string_view digits);

/// A number as is_number() has it: "1,250" -> "one thousand two hundred fifty", "-3.05" -> "minus
/// three point zero five"; "007" and more than 15 digits are read digit by digit.
std::string cardinal_words(std::string_view number);
/// The same, but four digits without a comma are read as a year: "1984", "2026".
std::string number_words(std::string_view number);
/// Each digit by its name; other characters are skipped.
std::string digit_words(std::string_view text);
/// Three or four digits as codes are said: "1080" -> "ten eighty", "1905" -> "nineteen oh five".
std::string pair_words(std::string_view digits);
/// 22 -> "twenty second".
std::string ordinal_words(int64_t n);
/// 1990 -> "nineteen nineties", 80 -> "eighties". n is a multiple of ten.
std::string decade_words(int64_t n);
/// 5, 8 -> "five eighths"; 1, 2 -> "one half"; "five over seventeen" where nothing else is said.
std::string fraction_words(int64_t top, int64_t bottom);

}  // namespace syrinx::english
