// Words with one spelling and several pronunciations: "they record a record". Weights of the words
// next to a noun, a verb and an adjective decide; training/heteronyms.py learns them. Rules decide
// where the part of speech is not enough ("the bass swam"). Const tables, no state.
//
// Uses the whole sentence before a word but only two words after it, so that text that arrives word
// by word is read in the same way.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/english/reader.h"

namespace syrinx::english {

struct Heteronym {
  std::string word;
  std::string noun, verb,
      adjective;      ///< in ARPAbet; "" if the word is not this part of speech, or has another's
                      ///< phones
  std::string other;  ///< phones that only rules choose: the metal "lead", the past tense "read"
  int bias[3];        ///< for noun, verb and adjective, in 16ths: how frequent each is
};

/// Returns all heteronyms that the reader knows.
std::span<const Heteronym> heteronyms();

/// Sets the phones of pieces that are heteronyms, except of pieces that already have phones.
void say_heteronyms(std::vector<Piece>& pieces);

}  // namespace syrinx::english
