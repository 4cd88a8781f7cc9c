// Cuts text into sentences that the voice can speak; each piece knows the bytes of the text that it
// speaks. text/sentences finds the sentences and text/english the words. Here long sentences are
// cut, and so are questions in which the pitch rises after the first part (questions.h). Never
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

/// A spoken piece of a sentence: `text` has the spoken words and the mark behind them, which stand
/// for the bytes [begin, end) of the request's text.
struct Piece {
  std::string text;
  int64_t begin = 0, end = 0;
  Phones phones = {};  ///< phones of `text`, which is one word; empty: libflite decides
  bool strong = false;
};

/// Text that is spoken in one go.
struct Sentence {
  std::vector<Piece> pieces;
  bool rising = false;  ///< a question whose pitch rises at the end
  float pause_s = 0;    ///< silence after it, in addition to the usual silence

  /// Returns the texts of all pieces, joined by single spaces.
  std::string text() const;
};

/// length of the written text, and of the spoken text
inline constexpr size_t kMaxSentenceChars = 170;

/// Takes text in pieces that may be cut anywhere; the sentences depend only on the whole text. One
/// thread.
class SentenceReader {
 public:
  /// `sayings`: those of the text, in order; `lexicon` may be null. `by_word`: speech may begin
  /// before the sentence's end mark has arrived, so the pitch does not rise within the sentence.
  explicit SentenceReader(std::vector<Saying> sayings = {},
                          std::shared_ptr<const Lexicon> lexicon = nullptr, bool by_word = false)
      : sayings_(std::move(sayings)), lexicon_(std::move(lexicon)), by_word_(by_word) {}
  /// Takes more text. A sentence is queued for next() once its end is certain: when the next
  /// sentence has begun, or with `last`.
  void push(std::string_view text, bool last);
  /// Reads the next waiting sentence and appends its parts, if it has any; false: no sentence
  /// waits. So the sentences of a book are read while earlier ones are spoken.
  bool next(std::deque<Sentence>& out);
  bool waits() const { return !waiting_.empty(); }
  /// The beginning of a sentence without an end so far, when the queue is empty: its pieces so far,
  /// and the number of leading pieces that more text will not change. Later pieces are only
  /// context.
  struct Begun {
    Sentence sentence;
    size_t certain = 0;
  };
  Begun begun() const;

 private:
  /// The end of a run: pieces of a sentence that are spoken without interruption if they fit. A run
  /// begins at the end of the previous run.
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
  std::string earlier_;  ///< words of this sentence's earlier parts, which may decide its tune
};

/// Returns the sentences of `utf8`; empty if nothing in it can be spoken.
std::deque<Sentence> split_sentences(std::string_view utf8);

}  // namespace syrinx::finch
