// One request of finch: the text that is left, the pointer into the symbols of the current
// sentence, and the codes so far. Each sentence is a segment: its positions begin at 0, but the
// decoder's stream continues, so the joint is inaudible. Used by one thread at a time.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <vector>

#include "families/finch/config.h"
#include "families/finch/frontend.h"
#include "families/finch/speakers.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::finch {

inline constexpr int kInputs = kBooks + kHeard + 3;  ///< ids of a row: codes, symbols, phrase, ...

class FinchState : public Sequence {
 public:
  /// Makes the state of a request, without its text.
  FinchState(const SpeechRequest& request, const FinchConfig& config,
             std::shared_ptr<const Frontend> frontend, std::shared_ptr<const Manner> manner);
  /// Reads the request's text. Begins the first segment if enough text has arrived. Call it once,
  /// before all other functions.
  Status begin(const SpeechRequest& request);

  /// Returns voice and speed, for the stages.
  const std::shared_ptr<const Manner>& manner() const { return manner_; }

  int prompt_rows() const override { return 1; }
  int max_steps() const override;
  bool ready() const override;
  const SampleParams& sampling(int k) const override { return sampling_[k]; }
  SampleRule rule(int) const override { return {}; }
  std::span<const int32_t> history(int k) const override { return history_[k]; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

  /// Writes rows with ids [kInputs]: codes of the codebooks, the symbol at the pointer and the next
  /// three, phrase, place, steps since the last move. Each row also has a vector of the Manner.
  void rows(int first, bool companion, InputRows& out) const override;

  /// A move of the pointer, and the probability that the pointer has not moved until now.
  struct Move {
    int move = 0;
    float survival = 1;
  };
  /// Returns the move for these logits [kMoves], which are a step's values (ArTraits::values). The
  /// pointer stays while the probability of having stayed is at least one half.
  Move choose_move(std::span<const float> logits) const;

 private:
  struct Row {
    int32_t pointer = 0, age = 0;
  };

  void add_text(std::string_view text, bool last);
  bool next_segment();    ///< returns false if nothing can be spoken now
  bool next_sentences();  ///< returns false if no complete sentence waits
  void keep_unsaid(std::deque<Sentence> parts);
  bool begin_sentence();  ///< begins a sentence whose end has not arrived
  void grow();
  void close_sentence();
  void append(Segment more);
  /// Returns how many of the first pieces have been turned into symbols.
  size_t said(const Sentence& sentence) const;
  int ahead() const;  ///< returns the number of symbols from the pointer to the end
  void begin_segment(Segment segment);
  void row_ids(int position, std::span<int32_t> ids) const;
  void move_pointer(int count, float survival);
  void emit_frame(int frame, std::span<const int32_t> books, StepOutput& out);
  int32_t symbol_at(int index) const;  ///< 0 if `index` is outside the symbols
  int32_t lift_at(int index) const;    ///< 0 if `index` is outside the symbols

  const FinchConfig& config_;
  std::shared_ptr<const Frontend> frontend_;
  std::shared_ptr<const Manner> manner_;
  SampleParams sampling_[kBooks];
  std::vector<int32_t> history_[kBooks];
  int64_t max_frames_ = 0;  // most frames of the request; 0: no bound
  double frames_per_pause_s_ = 0;
  int steps_per_symbol_ = 0;  // most steps per symbol, averaged over a segment
  bool repeat_ = false;       // repeat the text until max_frames

  bool open_ = false;
  bool by_word_ = false;  // speak words as they arrive, not only whole sentences
  // The end of the sentence has not arrived, so symbols will be added.
  bool growing_ = false;
  bool new_text_ = false;  // text has arrived since the last grow()
  int64_t said_to_ = 0;    // byte offset up to which the text has been turned into symbols
  SentenceReader reader_;
  std::deque<Sentence> sentences_;
  std::vector<Sentence> spoken_;  // sentences to repeat if repeat_ is true
  std::deque<Segment> segments_;  // further segments of a long sentence

  Segment segment_;
  std::vector<Row> rows_;  // one entry per position
  DelayedStreams books_;
  std::vector<int32_t> path_;  // value of the pointer for each frame
  size_t next_word_ = 0;
  int next_symbol_ = 0;  // first symbol whose time was not sent yet
  bool phone_times_ = false;
  int64_t frames_before_ = 0;  // frames of earlier segments
  int pause_frames_ = 0;       // frames of pause before this segment; they repeat the last frame
  std::array<int32_t, kFrameWidth> last_frame_{};
  int32_t lift_ = 0;    // lift of the last frame in cents, which follows the symbols' lift smoothly
  float survival_ = 1;  // probability that the pointer is still at this symbol
};

}  // namespace syrinx::finch
