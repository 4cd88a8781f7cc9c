// Cuts sentences at words whose pronunciation a request or its lexicon states, in languages other
// than US English. Free functions; any thread.
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
  size_t sentence = 0;  ///< index of its sentence
  /// The text to read, and its place in the request's text. The bytes of `text` correspond to bytes
  /// of the place unless `reads_other_words` is true.
  SentenceStream::Item item;
  std::string phonemes = {};  ///< in misaki's alphabet; empty: `item` must be read
  bool reads_other_words = false;
  bool space = false;  ///< whether a space precedes it in the sentence
};

/// Cuts sentences at the words whose pronunciation `sayings` (byte ranges of the request's text) or
/// `lexicon` (may be null) states. `voice`: espeak-ng's name of the language.
std::vector<SaidPiece> said_pieces(std::span<const SentenceStream::Item> sentences,
                                   const std::vector<Saying>& sayings, const Lexicon* lexicon,
                                   std::string_view voice);

/// Joins pieces into `count` sentences. `read`: words of the pieces without phonemes, in order.
std::vector<std::vector<Spoken>> joined_pieces(std::span<const SaidPiece> pieces,
                                               std::vector<std::vector<Spoken>> read, size_t count);

}  // namespace syrinx::kokoro
