// The state of a request at the joint network: the transcription of a recording. Rows come from the
// encoder. Each step chooses an id at the current row. RNN-T: text, or the blank, which moves to
// the next row. TDT: an id, and the number of rows to move. Written text never changes. Made on
// the caller's thread, then used by one thread at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/transducer/config.h"
#include "model/request.h"
#include "model/sequence.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::transducer {

/// The task of transcribing a recording, as a whole or while its samples arrive.
struct Hearing : FamilyTask {
  /// The whole recording. Null: samples arrive one after another.
  std::shared_ptr<const Recording> recording;
  int lookahead = 0;
  bool scores = false;  ///< whether tokens are sent with their log-probabilities
};

/// The sequence of a recording. Each step makes one id of the joint network, perhaps the blank.
class Transcription : public Sequence {
 public:
  /// The state of the predictor. The stage that runs the steps changes it.
  struct Predictor {
    std::vector<float> hidden, cell;  ///< [layers, hidden]
    std::vector<float> out;           ///< [hidden], output after the last id
    int32_t next = -1;                ///< id to read next; negative: the predictor has read all ids
  };

  /// `config` and `tokenizer` must outlive this object.
  Transcription(const ModelConfig& config, const Tokenizer& tokenizer, int lookahead, bool scores);

  int lookahead() const { return lookahead_; }
  Predictor& predictor() { return predictor_; }
  /// Returns the row [hidden] of the next step. Empty if all rows of the recording were used.
  std::span<const float> row() const;

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return at_ < have_ || closed_; }
  int scores() const override { return scores_ ? 0 : -1; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int k) const override;
  Status take(int port, const Frames& frames) override;
  int64_t unused_frames() const override { return std::max<int64_t>(0, have_ - at_); }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  static constexpr int kSteps = 64;  // steps of a segment; the number of segments is not limited

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
  std::vector<float> rows_;  // rows [dropped_, have_) of the recording
  int64_t dropped_ = 0, have_ = 0, at_ = 0;
  bool closed_ = false;     // no more rows will arrive
  int symbols_ = 0;         // number of ids chosen at the current row
  int steps_ = 0;           // number of steps of this segment
  bool told_ = false;       // whether text was written
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx::transducer
