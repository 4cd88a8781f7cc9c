// Any text as the words that a reader of US English says: numbers, money, dates, times, units,
// ranges, abbreviations, Roman numerals, acronyms, addresses, code and signs become words; emoji
// and other scripts are skipped. For voices whose model wants words and not writing.
//
// Works on one sentence (text/sentences.h); the whole of it must be there. Never throws on any
// bytes; the words are at most 16 times as long as the text, plus 64. No state, thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/saying.h"

namespace syrinx::english {

/// Words for the bytes [begin, end) of the sentence.
struct Piece {
  /// Letters, apostrophes and single spaces; never empty. A capital that stands alone is the name
  /// of that letter (or the pronoun I).
  std::string words;
  char mark = 0;  ///< the pause after them: , ; : . ? ! or 0 for none
  int64_t begin = 0, end = 0;
  Phones phones = {};   ///< of the words, which then are one
  bool strong = false;  ///< with an accent: *so*, or a word in capitals among others
};

/// `whole`: the sentence ends here and is not cut; its last piece then has one of . ? !
/// `sayings`: of bytes of the sentence, in order, apart.
std::vector<Piece> read_sentence(std::string_view sentence, bool whole = true,
                                 std::span<const Saying> sayings = {});

}  // namespace syrinx::english
