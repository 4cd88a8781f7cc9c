// Words with one spelling and several pronunciations: "they record a record". Weights of the
// neighbouring words select a noun, a verb or an adjective; training/heteronyms.py learns the
// weights. Rules decide where the part of speech is not enough ("the bass swam"). No state.
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
      adjective;      ///< phones (ARPAbet) of each part of speech; "" if the word is never one.
                      ///< If two parts of speech have equal phones, one of them is "", too.
  std::string other;  ///< phones that only rules select: the metal "lead", the past tense "read"
  int bias[3];        ///< scores of noun, verb and adjective, in 16ths: how frequent each is
};

/// Returns all heteronyms of the tables.
std::span<const Heteronym> heteronyms();

/// Sets the phones of each piece that is a heteronym. Pieces that already have phones keep them.
void say_heteronyms(std::vector<Piece>& pieces);

}  // namespace syrinx::english
