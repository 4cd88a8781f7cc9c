// Text for Kyutai TTS: words with their ids, and the state machine that feeds them to the model.
// The model reads two streams of text. In the main stream, the ids of a word follow one another,
// then frames without text. The second stream marks where words begin, and has the ids of a later
// word. The model asks for the next word. Source: moshi:moshi/models/tts.py, script_to_entries()
// and StateMachine. Values; one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "families/kyutai_tts/config.h"
#include "text/tokens/unigram.h"

namespace syrinx::kyutai_tts {

/// A word of the text.
struct Word {
  std::vector<int32_t> ids;
  int64_t begin = 0, end = 0;  ///< bytes in the text of the request
};

/// Cuts a text into words. The words do not depend on how the text is divided into pieces.
class WordReader {
 public:
  /// `tokenizer` must outlive this object.
  explicit WordReader(const Unigram& tokenizer) : tokenizer_(tokenizer) {}

  /// Adds a piece of text and returns the words that are complete. `last`: no more text follows.
  std::vector<Word> push(std::string_view text, bool last);

 private:
  void end_word(std::vector<Word>& out);

  const Unigram& tokenizer_;
  std::string held_;  // bytes of an incomplete character
  std::string word_;
  int64_t at_ = 0;               // bytes of the text before held_
  int64_t begin_ = 0, end_ = 0;  // bytes of word_ in the text
  bool begun_ = false;           // whether a word has ended
};

/// The ids of a step: in the main stream, and in the second stream, where -1 means none.
struct TextIds {
  int32_t main = kPad, second = -1;
};

/// Decides which ids the model reads. A step draws whether a word or a frame without a word
/// follows.
class TextMachine {
 public:
  // Values of the authors' program (moshi:moshi/run_tts.py): frames without text before the first
  // word, most frames without text in a row, frames between words.
  static constexpr int kFirstPads = 2, kMostPads = 8, kBetween = 1;
  /// What a step draws: a frame without a word, a word, or either.
  enum class Next { kFrame, kWord, kFree };

  /// `ahead`: ModelConfig::ahead.
  explicit TextMachine(int ahead) : ahead_(ahead) {}

  void push(Word word) { waiting_.push_back(std::move(word)); }
  void close() { closed_ = true; }
  bool closed() const { return closed_; }
  /// Returns whether no word was pushed.
  bool blank() const { return waiting_.empty() && !begun_; }
  /// Returns whether the ids of the next step are known, whatever it draws.
  bool ready() const;
  /// Returns what the next step may draw.
  Next next() const;
  /// Returns the ids of the next step. `word`: whether it draws a word; unused unless free.
  TextIds peek(bool word) const;
  /// Does the next step. Returns the word that begins, if any.
  std::optional<Word> take(bool word);
  /// Returns whether the model asked for a word after the last one.
  bool ended() const { return ended_; }

 private:
  bool wants_word(bool drawn) const;
  bool repeats_mark() const;

  const int ahead_;
  std::deque<Word> waiting_;
  std::deque<int32_t> queued_;         // ids of the current word
  std::deque<int32_t> second_queued_;  // ids of later words
  int forced_ = kFirstPads;            // frames without a word that must follow
  int remaining_ = kFirstPads;         // frames without a word that may follow
  bool closed_ = false, ended_ = false, begun_ = false;
};

}  // namespace syrinx::kyutai_tts
