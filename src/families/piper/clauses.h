// Splits a sentence into the clauses that Piper makes phonemes from. A clause ends with a comma,
// colon, semicolon or the sentence's mark. A word with given sounds is a clause of its own. Values;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/piper/phonemes.h"

namespace syrinx::piper {

/// A word as bytes of the sentence's text.
struct WrittenWord {
  int64_t begin = 0, end = 0;
};

struct Clause {
  std::string say;  ///< words for espeak-ng with their mark, or phonemes in IPA
  bool ipa = false;
  std::vector<WrittenWord> words;
  char mark = 0;  ///< , : ; . ? or !; 0: the next clause follows without a mark
};

std::vector<Clause> clauses_of(const WrittenText& sentence);

}  // namespace syrinx::piper
