// Cuts text into sentences that the voice can speak; each piece has the byte range of its text.
// text/sentences finds the sentences, and text/english finds the words. This code also cuts long
// sentences, and questions in which the pitch rises after the first part (questions.h). Never
// fails.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/lexicon.h"
#include "text/saying.h"
#include "text/sentences.h"

namespace syrinx::finch {

/// A spoken piece of a sentence. `text` has the spoken words and the mark after them. They
/// represent the bytes [begin, end) of the request's text.
struct Piece {
  std::string text;
  int64_t begin = 0, end = 0;
  Phones phones = {};  ///< phones of `text` if it is one word; empty: libflite chooses
  bool strong = false;
};

/// A sentence of the text, or a part of one, that is spoken with one tune.
struct Sentence {
  std::vector<Piece> pieces;
  bool rising = false;  ///< a question at whose end the pitch rises
  float pause_s = 0;    ///< seconds of silence after it, added to the last pause symbol

  /// Returns the texts of all pieces, joined by single spaces.
  std::string text() const;
};

/// Largest length in bytes of a sentence's written text, and of its spoken text.
inline constexpr size_t kMaxSentenceChars = 170;

/// Cuts text that arrives in pieces, which may end anywhere. The sentences depend only on the whole
/// text. Used by one thread at a time.
class SentenceReader {
 public:
  /// `sayings`: stated pronunciations, in order. `lexicon` may be null. `by_word`: speech may begin
  /// before the end of the sentence arrives, so the pitch does not rise within the sentence.
  explicit SentenceReader(std::vector<Saying> sayings = {},
                          std::shared_ptr<const Lexicon> lexicon = nullptr, bool by_word = false)
      : sayings_(std::move(sayings)), lexicon_(std::move(lexicon)), by_word_(by_word) {}
  /// Adds text. A sentence is queued for next() once its end is certain: when the next sentence has
  /// begun, or with `last`.
  void push(std::string_view text, bool last);
  /// Reads the next queued sentence and appends its parts, if it has any. Returns false if no
  /// sentence is queued. So the later sentences of a book are read while earlier ones are spoken.
  bool next(std::deque<Sentence>& out);
  bool waits() const { return !waiting_.empty(); }
  /// The beginning of a sentence whose end has not arrived, while the queue is empty: its
  /// pieces so far. More text cannot change the first `certain` pieces; later pieces are only
  /// context.
  struct Begun {
    Sentence sentence;
    size_t certain = 0;
  };
  Begun begun() const;

 private:
  /// A run: pieces that become one Sentence, if it is short enough. It begins where the previous
  /// run ends. `end`: index after its last piece.
  struct Run {
    size_t end = 0;
    bool rises = false;
  };
  std::vector<Piece> read(std::string_view text, int64_t offset, bool whole) const;
  std::vector<Run> runs_of(std::span<const Piece> pieces, bool cut);

  std::vector<Saying> sayings_;
  std::shared_ptr<const Lexicon> lexicon_;
  SentenceStream stream_{{.max_chars = kMaxSentenceChars}};
  bool by_word_ = false;
  std::deque<SentenceStream::Item> waiting_;
  std::string earlier_;  ///< words of the sentence's earlier parts, which may affect its tune
};

/// Returns the sentences of `utf8`. Empty if it has nothing to speak.
std::deque<Sentence> split_sentences(std::string_view utf8);

}  // namespace syrinx::finch
