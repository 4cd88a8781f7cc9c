// Text as sentences that the voice can speak, each piece tied to the bytes that it stands for.
// text/sentences finds the sentences, text/english the words; here they are fitted to the voice:
// long sentences are cut, and so are questions behind whose first part the pitch rises
// (questions.h). Never fails.
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

/// A spoken piece of a sentence: `text`, words and a mark, reads the bytes [begin, end) of the
/// request's text.
struct Piece {
  std::string text;
  int64_t begin = 0, end = 0;
  Phones phones = {};  ///< of `text`, which is one word; empty: as libflite says it
  bool strong = false;
};

/// Text that is spoken in one go.
struct Sentence {
  std::vector<Piece> pieces;
  bool rising = false;  ///< a question whose pitch rises at the end
  float pause_s = 0;    ///< of silence behind it, beyond that of any sentence

  /// All pieces with one space between them.
  std::string text() const;
};

inline constexpr size_t kMaxSentenceChars = 170;  ///< of written and of spoken text

/// Takes text in pieces cut anywhere; the sentences depend on the whole only. One thread.
class SentenceReader {
 public:
  /// `sayings`: of the text, in order; `lexicon` may be null. `by_word`: for speech that may have
  /// begun before a sentence's mark is there, and so cannot rise within it.
  explicit SentenceReader(std::vector<Saying> sayings = {},
                          std::shared_ptr<const Lexicon> lexicon = nullptr, bool by_word = false)
      : sayings_(std::move(sayings)), lexicon_(std::move(lexicon)), by_word_(by_word) {}
  /// Sentences wait once their end is certain: the next one has begun, or `last`.
  void push(std::string_view text, bool last);
  /// Reads the next waiting sentence and appends its parts, if it has any; false when none waits.
  /// Sentences of a book are thus read while earlier ones are spoken.
  bool next(std::deque<Sentence>& out);
  bool waits() const { return !waiting_.empty(); }
  /// The beginning of the sentence whose end has not come, when none waits: the pieces that are
  /// there, and how many of them more text will not change. Later pieces are only context.
  struct Begun {
    Sentence sentence;
    size_t certain = 0;
  };
  Begun begun() const;

 private:
  /// Pieces [from the one before's end, end) of a sentence, spoken in one go where they fit.
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
  std::string earlier_;  ///< words of this sentence that were cut off and may decide how it ends
};

/// The sentences of `utf8`; empty when nothing in it can be spoken.
std::deque<Sentence> split_sentences(std::string_view utf8);

}  // namespace syrinx::finch
