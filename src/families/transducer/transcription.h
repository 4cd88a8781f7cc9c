// The state of a request at the joint network: the transcription of a recording. Each step chooses
// an id at the current row. RNN-T: text, or the blank, which moves to the next row. TDT: an id, and
// the number of rows to move. Threads as for LiveSequence.
#pragma once

#include <vector>

#include "families/live/live_sequence.h"
#include "families/transducer/config.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::transducer {

/// The sequence of a recording. It takes a step for each id of the joint network.
class Transcription final : public LiveSequence {
 public:
  /// The state of the predictor. The stage that runs the steps changes it.
  struct Predictor {
    std::vector<float> hidden, cell;  ///< [layers, hidden]
    std::vector<float> out;           ///< [hidden], output after the last id
    int32_t next = -1;                ///< id to read next; negative: the predictor has read all ids
  };

  /// `config` and `tokenizer` must outlive this object. The lookahead is the delay of the task.
  Transcription(const ModelConfig& config, const Tokenizer& tokenizer, const Hearing& task);

  Predictor& predictor() { return predictor_; }

 private:
  int64_t step(std::span<const int32_t> codes, StepOutput& out) override;
  double time_of(int64_t row) const override {
    return static_cast<double>(row) * config_.frame_s();
  }
  int64_t moved(std::span<const int32_t> codes);

  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  Predictor predictor_;
  int symbols_ = 0;  // number of ids chosen at the current row
};

}  // namespace syrinx::transducer
