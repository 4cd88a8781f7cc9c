// A request of a family that reads text and makes frames: segments, late text, bounds, what is fed
// again, what is refused. A family describes its model by a SpokenModel and a request by a
// SpokenScript; everything else of a Sequence is here. Made on the caller's thread, then touched by
// one thread at a time (model/request.h).
// T tables, S streams of codes.
#pragma once

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "families/spoken/prompt.h"
#include "families/spoken/spoken_model.h"
#include "families/spoken/text_plan.h"
#include "model/delay.h"
#include "model/input_rows.h"
#include "model/pipeline.h"

namespace syrinx {

/// A segment: the ids of its text and the frames that were made of it, [F, S].
struct SpokenSegment {
  std::vector<int32_t> ids, frames;
};

/// A family's script of one request. All but splitter(), what it returns, and encode() run on the
/// thread of the engine or of an executor; from step_row() on nothing is allocated.
class SpokenScript {
 public:
  virtual ~SpokenScript() = default;

  /// How the family cuts text into segments; empty: at sentences (SpokenModel::text).
  virtual TextPlan::Split splitter() { return {}; }
  /// The ids of a segment's text, in order. `begin`: its first byte in the text of the request, or
  /// that of the text which splitter() cut it from.
  virtual Result<std::vector<int32_t>> encode(std::string_view segment, int64_t begin) = 0;
  /// Writes the prompt of segment `now`. `past`: those before it, of which what no later prompt
  /// hears may be dropped. Vectors must stay valid as long as the script.
  virtual void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) = 0;
  /// Changes a copy of a prompt to what the companion is fed, row for row.
  virtual void make_companion(Prompt& /*prompt*/) const {}
  /// Steps that a segment may take without the pattern's tail, whatever a request asks for.
  virtual int64_t step_limit() const { return std::numeric_limits<int32_t>::max(); }
  /// The row that the codes [S] of step `step` make: ids [T], all -1 before.
  virtual void step_row(int step, std::span<const int32_t> codes, std::span<int32_t> ids) const = 0;
  virtual SampleRule rule(const DelayedStreams& steps, int k) const = 0;
  /// Codes k of the segment so far that a penalty for repetition counts, oldest first.
  virtual std::span<const int32_t> history(const DelayedStreams& steps, int k) const {
    return steps.column(k).subspan(1);
  }
  /// Whether a step ends the segment and is not part of it. A model whose frames end one after
  /// another calls DelayedStreams::end_now() instead.
  virtual bool ends(DelayedStreams& steps, std::span<const int32_t> codes) const = 0;
  /// Emits what the last step made complete, where `frame` [S] did. Returns how many frames.
  virtual int emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out);
  /// Emits what follows the last frame of a segment that the model ended, at most `most` frames.
  /// Returns how many.
  virtual int close(const DelayedStreams& /*steps*/, int64_t /*most*/, StepOutput& /*out*/) {
    return 0;
  }
  /// Returns how many steps, without the pattern's tail, make `frames` frames.
  virtual int64_t steps_of(int64_t frames) const { return frames; }
};

/// The sequence of one request.
class SpokenSequence final : public Sequence {
 public:
  static constexpr int kMostStreams = 64;

  /// Checks the request and begins. `model` must outlive the sequence; a script that could not be
  /// made refuses the request.
  static Result<Opened> open(const SpokenModel& model, Result<std::unique_ptr<SpokenScript>> script,
                             const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, prompt_.size()); }
  int max_steps() const override;
  bool ready() const override { return !prompt_.empty(); }
  std::optional<float> guidance() const override { return guidance_; }
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void rows(int first, bool companion, InputRows& out) const override;
  const SampleParams& sampling(int k) const override { return k > 0 ? inner_sampling_ : sampling_; }
  SampleRule rule(int k) const override { return script_->rule(steps_, k); }
  std::span<const int32_t> history(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  /// The end of an input that brought nothing; no frames.
  Status take(int port, const Frames& frames) override;

  uint64_t seed() const { return seed_; }
  /// For stages behind the model that open streams of what the family knows of the request.
  const SpokenScript& script() const { return *script_; }

 private:
  SpokenSequence(const SpokenModel& model, std::unique_ptr<SpokenScript> script,
                 const SpeechRequest& request);
  /// Leading rows of a new prompt that the same positions were fed before.
  struct Kept {
    int rows = 0, companion_rows = 0;
  };
  Kept begin_segment();
  Verdict end_segment();
  int64_t frames_left() const;
  int rows_fed_before(const Prompt& fed, const Prompt& next) const;
  void step_row(int step, std::span<int32_t> ids) const;

  const SpokenModel& model_;
  const std::unique_ptr<SpokenScript> script_;
  const SampleParams sampling_, inner_sampling_;
  const std::optional<float> guidance_;
  const uint64_t seed_;
  const int64_t max_frames_;  // of the request; 0: a bound by the text

  TextPlan text_;
  std::deque<SpokenSegment> past_;
  SpokenSegment now_;
  Prompt prompt_;     // empty while no segment waits
  Prompt companion_;  // empty without guidance
  DelayedStreams steps_;
  int64_t frames_ = 0, frames_before_ = 0;  // emitted, of all segments and of earlier ones
};

}  // namespace syrinx
