// Words that are spelled alike and said otherwise: "they record a record". The reading follows from
// the words around: weights of what stands beside a noun, a verb and an adjective, learned by
// training/heteronyms.py, and rules for words whose kinds do not decide ("the bass swam"). Const
// tables, no state.
//
// Looks at all of the sentence before a word, and at no more than the two words after it: text that
// arrives word by word is read the same.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/english/reader.h"

namespace syrinx::english {

struct Heteronym {
  std::string word;
  std::string noun, verb,
      adjective;      ///< in ARPAbet; "" where it is not that kind, or said as another
  std::string other;  ///< what only the rules find: "lead" pipes, "read" long ago
  int bias[3];        ///< for a noun, a verb and an adjective, in 16ths: how often it is what
};

/// All heteronyms that the reader knows.
std::span<const Heteronym> heteronyms();

/// Gives the pieces that are heteronyms their phones, but for those that have some already.
void say_heteronyms(std::vector<Piece>& pieces);

}  // namespace syrinx::english
