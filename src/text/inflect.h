// Writes whole numbers as English words, as the Python package inflect does (7.5.0,
// number_to_words), which the authors of several models apply to their texts. The functions are
// thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// Converts "1234" to "one thousand, two hundred and thirty-four", or without "and" if `with_and`
/// is false. Ignores leading zeros. Reads numbers of more than 36 digits digit by digit, because
/// inflect has no words for such numbers.
std::string inflect_number(std::string_view digits, bool with_and = true);

/// Replaces every run of digits 0 to 9 of a text by words.
std::string inflect_numbers(std::string_view text);

}  // namespace syrinx
