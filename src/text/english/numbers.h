// Numbers as English words, and tests for numbers. Pure functions on folded text (fold.h). Words
// are in small letters without hyphens: "twenty five".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrinx::english {

/// Returns the length of the number at the beginning of `text`, or 0 without a number. A number has
/// an optional sign, digits (optionally with a comma before each three) and decimals.
size_t number_length(std::string_view text);
/// Returns whether all of `text` is a number: "1,250", "-3.5", ".5".
bool is_number(std::string_view text);
/// Returns whether all of `text` are `least` to `most` digits.
bool is_digits(std::string_view text, size_t least = 1, size_t most = 18);
/// Returns the value of at most 18 digits.
int64_t value_of(std::string_view digits);

/// Reads a number for which is_number() is true: "1,250" -> "one thousand two hundred fifty",
/// "-3.05" -> "minus three point zero five"; reads "007" and more than 15 digits digit by digit.
std::string cardinal_words(std::string_view number);
/// Reads a number as cardinal_words(), but four digits without a comma as a year: "1984", "2026".
std::string number_words(std::string_view number);
/// Returns each digit by its name; skips other characters.
std::string digit_words(std::string_view text);
/// Reads three or four digits as in codes: "1080" -> "ten eighty", "1905" -> "nineteen oh five".
std::string pair_words(std::string_view digits);
/// Reads an ordinal: 22 -> "twenty second".
std::string ordinal_words(int64_t n);
/// Reads a decade: 1990 -> "nineteen nineties", 80 -> "eighties". n is a multiple of ten.
std::string decade_words(int64_t n);
/// Reads a fraction: 5, 8 -> "five eighths"; 1, 2 -> "one half"; other denominators with "over":
/// "five over seventeen".
std::string fraction_words(int64_t top, int64_t bottom);

}  // namespace syrinx::english
