// Converts any text to the words that a reader of US English says. Numbers, money, dates, times,
// units, ranges, abbreviations, Roman numerals, acronyms, addresses, code and signs become words;
// emoji and other scripts are skipped. Used for models whose input is words, not written text.
//
// Reads one whole sentence (text/sentences.h) at a time. Never throws, for any bytes; the words are
// at most 16 times as long as the text, plus 64. No state, thread-safe.
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
  /// Letters, apostrophes and single spaces; never empty. A single capital means the name of that
  /// letter (or the pronoun I).
  std::string words;
  char mark = 0;  ///< pause after the words: one of , ; : . ? ! or 0 for no pause
  int64_t begin = 0, end = 0;
  Phones phones = {};   ///< phones of `words`, which is a single word if phones are set
  bool strong = false;  ///< stressed: *so*, or a word in capitals among words in small letters
};

/// Reads a sentence. `whole`: the sentence is complete, so the mark of the last piece is a full
/// stop, "?" or "!". `sayings`: words or phones to use for bytes of the sentence, in order and
/// without overlap.
std::vector<Piece> read_sentence(std::string_view sentence, bool whole = true,
                                 std::span<const Saying> sayings = {});

}  // namespace syrinx::english
