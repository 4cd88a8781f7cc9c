// Writes numbers as English words, even in texts of other languages, because Zonos' authors do so
// before they make phonemes (Zonos:zonos/conditioning.py, normalize_numbers).
#pragma once

#include <string>
#include <string_view>

namespace syrinx::zonos {

/// Replaces numbers: "$5.99 in 1984" becomes "five dollars, ninety-nine cents in nineteen
/// eighty-four".
std::string normalize_numbers(std::string_view text);

}  // namespace syrinx::zonos
