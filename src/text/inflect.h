// Whole numbers as English words the way the Python package inflect (7.5.0, number_to_words) writes
// them, which authors of several models run over their texts. Free functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace syrinx {

/// "1234" becomes "one thousand, two hundred and thirty-four"; without `with_and` no "and". Zeros
/// in front do not count. More than 36 digits, for which inflect has no words: one by one.
std::string inflect_number(std::string_view digits, bool with_and = true);

/// Every run of digits 0 to 9 of a text becomes words.
std::string inflect_numbers(std::string_view text);

}  // namespace syrinx
