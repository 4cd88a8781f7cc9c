// The text of a recording by a delayed-streams model: each row has one id, which lags behind the
// sound. An id is text, the end of a word, an end, or no text. H: width of a row, L layers.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "families/live/live_sequence.h"
#include "nn/stream_decoder.h"

namespace syrinx {

/// The text beside the rows of a recording, for one delay.
struct DelayedText {
  int64_t width = 0;         ///< H
  double row_s = 0.08;       ///< length of a row in seconds
  int64_t before = 0;        ///< rows of silence before the recording
  int64_t after = 0;         ///< rows of silence after the recording
  double delay_s = 0;        ///< seconds by which the text lags
  int64_t first = 1;         ///< rows of the first step
  int32_t begin = 0;         ///< id beside the first row
  int32_t pad = 0;           ///< id beside the other rows of the first step
  int32_t word_end = -1;     ///< id between two words; negative: the model has no such id
  int32_t end = -1;          ///< id after the text; negative: the model has no such id
  int64_t longest_word = 0;  ///< rows; of a model without `word_end`

  /// Returns the second of the recording that the step at row `row` writes down; at least 0.
  double time_of(int64_t row) const;
};

/// The bytes of each id; empty: the id is not text.
using IdTexts = std::vector<std::string>;

/// The sequence of a recording. A recording goes on after an end, as in vLLM's realtime server, but
/// text after an end in the silence that follows the recording is dropped, as by transformers'
/// generate(). So text after an end waits until it is known where that end was.
class DelayedSequence final : public LiveSequence {
 public:
  /// `norms` [L, H]: norms of the task's delay (StreamRows::mlp_norms); may be null.
  DelayedSequence(const DelayedText& text, std::shared_ptr<const IdTexts> texts, StreamKv kv,
                  std::shared_ptr<const Tensor> norms, const Hearing& task);

  /// Returns the id beside row `i` of step_rows().
  int32_t id_of(int64_t i) const;
  StreamKv& kv() { return kv_; }
  View norms() const { return norms_ ? norms_->view() : View{}; }

 private:
  struct Held {
    ScoredToken token;
    int64_t end = -1;  // row of the last end before it; negative: none
  };
  int64_t step(std::span<const int32_t> codes, StepOutput& out) override;
  void finish(StepOutput& out) override { end_word(out); }
  double time_of(int64_t row) const override { return text_.time_of(row); }
  void write(ScoredToken token, StepOutput& out);
  void end_word(StepOutput& out);

  const DelayedText text_;
  const std::shared_ptr<const IdTexts> texts_;
  StreamKv kv_;
  const std::shared_ptr<const Tensor> norms_;
  int32_t last_;
  int64_t word_from_ = -1;  // row at which the next word begins; negative: at its first id
  int64_t word_to_ = -1;    // row after the last id of the open word; negative: no word is open
  double said_s_ = 0;       // second at which the last word ended
  int64_t end_ = -1;        // row of the last end; negative: none
  std::deque<Held> held_;   // tokens that are not sent yet
};

}  // namespace syrinx
