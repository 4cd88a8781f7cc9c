// A sentence in the clauses that Piper's phonemes are made of: up to a comma, colon, semicolon or
// the sentence's mark, and apart where sounds are given for a word. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/piper/phonemes.h"

namespace syrinx::piper {

/// Bytes of the sentence's text.
struct WrittenWord {
  int64_t begin = 0, end = 0;
};

struct Clause {
  std::string say;  ///< words for espeak-ng with their mark, or phonemes in IPA
  bool ipa = false;
  std::vector<WrittenWord> words;
  char mark = 0;  ///< , : ; . ? or !; 0: the clause goes on in the next one
};

std::vector<Clause> clauses_of(const WrittenText& sentence);

}  // namespace syrinx::piper
