// Folds UTF-8 text to the plain characters that the English front end reads. Accents are dropped,
// typographic signs become their plain form or words, currencies one-byte marks. What has no
// English reading (emoji, other scripts, control characters, broken bytes) becomes a space.
// Never fails. No state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace syrinx::finch {

/// One folded character and the bytes [begin, end) of the text that it stands for.
struct FoldedChar {
  char ch = ' ';
  int64_t begin = 0, end = 0;
};

inline constexpr char kEuro = 1, kPound = 2, kYen = 3, kRupee = 4;  ///< beside '$'

std::vector<FoldedChar> fold(std::string_view utf8);

}  // namespace syrinx::finch
