// Splits a sentence into the clauses from which Piper makes phonemes. A clause ends with a comma, a
// colon, a semicolon or the sentence's mark. A word with stated phones is a separate clause. Value
// types; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/piper/phonemes.h"

namespace syrinx::piper {

/// A word, as a range of bytes of the sentence's text.
struct WrittenWord {
  int64_t begin = 0, end = 0;
};

/// A clause of a sentence, with its words.
struct Clause {
  std::string say;  ///< words with their mark for espeak-ng, or phonemes in IPA
  bool ipa = false;
  std::vector<WrittenWord> words;
  char mark = 0;  ///< one of , : ; . ? !; 0: no mark before the next clause
};

/// Returns the clauses of a sentence, in order.
std::vector<Clause> clauses_of(const WrittenText& sentence);

}  // namespace syrinx::piper
