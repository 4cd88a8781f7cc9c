// Turns text into the symbols that finch speaks, with libflite's English front end (numbers,
// abbreviations, pronunciation, phrasing). Needs no data files. Thread-safe: one thread at a time
// may use libflite. A sentence takes about a millisecond.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "families/finch/phone_stream.h"
#include "families/finch/sentences.h"

namespace syrinx::finch {

/// The first symbol of a word, and the bytes [begin, end) of the request's text for the word.
struct WordStart {
  int symbol = 0;
  int64_t begin = 0, end = 0;
};

/// The symbols of a Sentence, or of a piece of it if it has more than kMaxSymbols.
struct Segment {
  std::vector<PhoneSymbol> symbols;  ///< begins and ends with a pause; at most kMaxSymbols
  std::vector<WordStart> words;      ///< words, in order
  float pause_s = 0;                 ///< seconds of silence after it, added to its last pause
};

inline constexpr int kMaxSymbols = 180;

/// Turns texts into symbols. All instances share libflite.
class Frontend {
 public:
  Frontend();
  ~Frontend();
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;

  /// Returns the segments of a sentence. Empty if libflite finds nothing to speak.
  std::vector<Segment> read(const Sentence& sentence) const;

  /// Returns the symbols that the pieces [first, last) have in the whole sentence, with the pauses
  /// before them. Their number is not limited. Phrase classes are those of text that arrives word
  /// by word. `whole`: the sentence and the segment have ended.
  Segment read_part(const Sentence& sentence, size_t first, size_t last, bool whole) const;

 private:
  struct Flite;
  Segment read_pieces(const Sentence& sentence) const;

  mutable std::mutex mutex_;
  std::unique_ptr<Flite> flite_;
};

}  // namespace syrinx::finch
