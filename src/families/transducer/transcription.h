// A recording being written down: the joint network's side of a request. Rows come from the
// encoder; each step chooses an id at the present row: text, or the blank, which moves on to the
// next row (RNN-T), or an id and the number of rows that it takes (TDT). Text is final. Made on the
// caller's thread, then touched by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/transducer/config.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::transducer {

/// The task of a request: to hear samples that come one after another, or a whole recording.
struct Hearing : FamilyTask {
  std::shared_ptr<const Recording> recording;  ///< set where the model hears no other ones
  int lookahead = 0;
  bool scores = false;  ///< tokens have their log-probability
};

/// The sequence of one recording: a step for each id that the joint network draws.
class Transcription : public Sequence {
 public:
  /// The predictor's state, changed by the stage that runs the steps.
  struct Predictor {
    std::vector<float> hidden, cell;  ///< [layers, hidden]
    std::vector<float> out;           ///< [hidden], behind the last id
    int32_t next = -1;                ///< id that it has not read; < 0: it has read all
  };

  /// The arguments must outlive it.
  Transcription(const ModelConfig& config, const Tokenizer& tokenizer, int lookahead, bool scores);

  int lookahead() const { return lookahead_; }
  Predictor& predictor() { return predictor_; }
  /// Returns the row of the next step, [hidden]; empty: all rows of the recording are through.
  std::span<const float> row() const;

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return at_ < have_ || closed_; }
  int scores() const override { return scores_ ? 0 : -1; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  Status take(int port, const Frames& frames) override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  static constexpr int kSteps = 64;  // steps of a segment; a recording has any number of segments

 private:
  void write(int32_t id, int64_t frames, StepOutput& out);
  int64_t moved(std::span<const int32_t> codes);
  void forget();

  const ModelConfig& config_;
  const Tokenizer& tokenizer_;
  const int lookahead_;
  const bool scores_;
  SampleParams sampling_;
  Predictor predictor_;
  std::vector<float> rows_;  // rows [dropped_, have_)
  int64_t dropped_ = 0, have_ = 0, at_ = 0;
  bool closed_ = false;     // no more rows come
  int symbols_ = 0;         // ids in a row without moving on
  int steps_ = 0;           // steps of this segment
  bool told_ = false;       // text was written
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx::transducer
