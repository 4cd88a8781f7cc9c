// Numbers as English words. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace syrinx::finch {

/// "1,250" -> "one thousand two hundred fifty", "-3.05" -> "minus three point zero five",
/// "1984" -> "nineteen eighty four" (four digits without a comma read as a year), "007" and numbers
/// of more than 15 digits digit by digit. `text` is a number as is_number() (reading.h) has it.
std::string number_words(std::string_view text);

}  // namespace syrinx::finch
