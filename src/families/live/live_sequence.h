// The state of a recording at the node that writes its words: rows of the encoder that wait, and
// bytes of text that are not a whole character yet. Text is final. Made on the caller's thread,
// then used by one thread at a time. H: width of a row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/pipeline.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx {

/// The task of transcribing a recording. Only the model that made it accepts it.
struct Hearing : FamilyTask {
  Hearing() : FamilyTask("") {}  // the model sets its family
  const Pipeline* model = nullptr;
  /// The whole recording. Null: samples arrive one after another.
  std::shared_ptr<const Recording> recording;
  int delay = 0;        ///< rows after a sound that the model hears before it writes the sound
  bool scores = false;  ///< whether tokens are sent with their log-probabilities
};

/// The sequence of a recording. A family derives from it and reads the codes of a step. If the
/// stage yields values (ArTraits::values), they are logits of classes after the newest row, the
/// first of which is a pause. The sequence sends the probability of the other classes as
/// Pipeline::listening() describes.
class LiveSequence : public Sequence {
 public:
  /// Returns the rows [N, H] that the next step reads. Empty if all rows of the recording were
  /// used.
  std::span<const float> step_rows() const;
  /// Returns the delay of the task.
  int delay() const { return delay_; }

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kSteps; }
  bool ready() const override { return have_ >= next() || closed_; }
  int scores() const override { return scores_ ? 0 : -1; }
  const SampleParams& sampling(int) const override { return sampling_; }
  /// If no row is left, the recording ends with an additional step.
  SampleRule rule(int k) const override;
  Status take(int port, const Frames& frames) override;
  int64_t unused_frames() const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;

  static constexpr int kSteps = 64;  ///< steps of a segment; the number of segments is not limited

 protected:
  /// `width`: H. `first`: number of rows that the first step reads.
  LiveSequence(const Hearing& task, int64_t width, int64_t first = 1);

  /// Processes the codes of the step at row at(). Returns the number of rows to move on.
  virtual int64_t step(std::span<const int32_t> codes, StepOutput& out) = 0;
  /// Completes the output after the last row.
  virtual void finish(StepOutput&) {}
  /// Returns the second of the recording that the step at row `row` writes down.
  virtual double time_of(int64_t row) const = 0;

  /// Returns the row of the present step: the last one that it reads.
  int64_t at() const { return at_; }
  /// Makes a token of bytes. The first text of a recording loses the blank before it.
  ScoredToken token(std::string bytes, const StepOutput& out);
  /// Sends a token and its whole characters.
  void send(ScoredToken token, StepOutput& out);

 private:
  int64_t next() const { return at_ < 0 ? first_ : at_ + 1; }  // rows up to the next step's last
  void forget();

  const int delay_;
  const bool scores_;
  const int64_t width_, first_;
  SampleParams sampling_;
  std::vector<float> rows_;  // rows [dropped_, have_) of the recording
  int64_t dropped_ = 0, have_ = 0;
  int64_t at_ = -1;         // row of the next step; negative before the first step
  bool closed_ = false;     // no more rows will arrive
  int steps_ = 0;           // number of steps of this segment
  bool begun_ = false;      // whether text was written
  std::string unfinished_;  // bytes of an incomplete character
};

}  // namespace syrinx
