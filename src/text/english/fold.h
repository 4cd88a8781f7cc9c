// Converts UTF-8 text to the plain characters that the English reader uses. Accents and styles are
// dropped (by Unicode's compatibility decomposition). Typographic signs become plain signs or
// words, single Greek letters become their names, and HTML entities the characters they stand for.
// Tags of HTML and marks of Markdown are removed. Everything without an English reading (emoji,
// other scripts, control characters, invalid bytes) becomes a space. Never fails. No state.
//
// Emoji are skipped, not named: they repeat what the words say, and the name of an emoji within a
// sentence would interrupt the sentence for seconds.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace syrinx::english {

/// A folded character (ASCII, or a sign of chars.h), and the bytes [begin, end) of the text that it
/// represents.
struct FoldedChar {
  char ch = ' ';
  int64_t begin = 0, end = 0;
  bool strong = false;   ///< within *emphasis*
  bool said = false;     ///< part of words whose pronunciation SSML or a lexicon gives
  bool literal = false;  ///< written as an entity, such as "&lt;", which begins no tag
};

/// Folds UTF-8 to ASCII and the signs of chars.h; each character has its source bytes.
std::vector<FoldedChar> fold(std::string_view utf8);

}  // namespace syrinx::english
