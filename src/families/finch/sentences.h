// Any text as sentences that libflite can read, each piece tied to the bytes that it stands for.
// Long sentences are cut at commas, else between words. Never fails; no state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::finch {

/// A spoken piece of a sentence: `text` reads the bytes [begin, end) of the request's text.
struct Piece {
  std::string text;
  int64_t begin = 0, end = 0;
};

struct Sentence {
  std::vector<Piece> pieces;
  bool rising = false;  ///< a question whose pitch rises at the end

  /// All pieces with one space between them.
  std::string text() const;
};

inline constexpr size_t kMaxSentenceChars = 170;  ///< of spoken text

/// The sentences of `utf8`; empty when nothing in it can be spoken.
std::vector<Sentence> split_sentences(std::string_view utf8);

}  // namespace syrinx::finch
