// Cuts sentences at words whose pronunciation a request or its lexicon states, in languages that
// this program's reader of US English does not read. Free functions; any thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "families/kokoro/phonemes.h"
#include "text/lexicon.h"
#include "text/saying.h"
#include "text/sentences.h"

namespace syrinx::kokoro {

/// A part of a sentence.
struct SaidPiece {
  size_t sentence = 0;  ///< its index
  /// The text to read and its place in the request's text. Bytes of `text` are bytes of the place
  /// unless `reads_other_words`.
  SentenceStream::Item item;
  std::string phonemes = {};  ///< in misaki's alphabet; empty: the text must be read
  bool reads_other_words = false;
  bool space = false;  ///< a space stands before it in the sentence
};

/// Cuts sentences at `sayings`, bytes of the request's text, and at words of `lexicon`, which may
/// be null. `voice`: espeak-ng's name of the language.
std::vector<SaidPiece> said_pieces(std::span<const SentenceStream::Item> sentences,
                                   const std::vector<Saying>& sayings, const Lexicon* lexicon,
                                   std::string_view voice);

/// Joins pieces to `count` sentences. `read`: the words of the pieces without phonemes, in order.
std::vector<std::vector<Spoken>> joined_pieces(std::span<const SaidPiece> pieces,
                                               std::vector<std::vector<Spoken>> read, size_t count);

}  // namespace syrinx::kokoro
