// Folds UTF-8 text to the plain characters that the English reader knows. Accents and styles are
// dropped (by Unicode's compatible decomposition), typographic signs become their plain form or
// words, single Greek letters their names, entities of HTML what they stand for; tags of HTML and
// the marks of Markdown go. What has no English reading (emoji, other scripts, control characters,
// broken bytes) becomes a space. Never fails. No state.
//
// Emoji are skipped, not named: they repeat what the words have said, and a name in the middle of
// a sentence costs seconds and breaks it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace syrinx::english {

/// One folded character (ASCII, or a sign of chars.h) and the bytes [begin, end) of the text that
/// it stands for.
struct FoldedChar {
  char ch = ' ';
  int64_t begin = 0, end = 0;
  bool strong = false;  ///< between the marks of *emphasis*
  bool said = false;    ///< of words that are said as they stand
};

/// Folds UTF-8 to ASCII and the signs of chars.h, with the bytes that each came from.
std::vector<FoldedChar> fold(std::string_view utf8);

}  // namespace syrinx::english
