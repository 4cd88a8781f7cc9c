// The sequence of families that read text and make frames: segments, late text, bounds,
// refusals, and the rows that a new segment keeps. A family describes its model by a
// SpokenModel and a request by a SpokenScript; a SpokenSequence does the rest. Made on
// the caller's thread, then used by one thread at a time (model/sequence.h). T: tables.
// S: streams of codes.
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

/// A segment: the ids of its text, and the frames [F, S] made from them.
struct SpokenSegment {
  std::vector<int32_t> ids, frames;
};

/// A family's description of one request. One thread at a time uses it. Only threads that add text
/// call splitter(), its result and encode(). step_row() and all later functions allocate nothing.
class SpokenScript {
 public:
  virtual ~SpokenScript() = default;

  /// Returns the function that cuts text into segments. Empty: at sentences (SpokenModel::text).
  virtual TextPlan::Split splitter() { return {}; }
  /// Returns the ids of a segment's text, in order. `begin`: offset in bytes of the segment in the
  /// request's text; with splitter(), the offset of the text from which it cut the segment.
  virtual Result<std::vector<int32_t>> encode(std::string_view segment, int64_t begin) = 0;
  /// Writes the prompt of segment `now`. `past`: the segments before it, from which this function
  /// may remove those that no later prompt contains. Vectors must stay valid as long as the script.
  virtual void prompt(std::deque<SpokenSegment>& past, const SpokenSegment& now, Prompt& out) = 0;
  /// Changes a copy of the prompt into the companion's prompt, with the same number of rows.
  virtual void make_companion(Prompt& /*prompt*/) const {}
  /// Returns the limit of steps of any request's segment, without the tail of the pattern.
  virtual int64_t step_limit() const { return std::numeric_limits<int32_t>::max(); }
  /// Writes the input row for the codes [S] of step `step`: ids [T], which are all -1 before.
  /// By default, code s becomes the id of table s + 1.
  virtual void step_row(int /*step*/, std::span<const int32_t> codes,
                        std::span<int32_t> ids) const {
    std::ranges::copy(codes, ids.begin() + 1);
  }
  /// Returns the rule of code k of the next step. The caller handles codes that get a mark, and
  /// removes the end for requests that ignore it (next_rule()).
  virtual SampleRule rule(const DelayedStreams& /*steps*/, int /*k*/) const { return {}; }
  /// Returns code k of the segment's steps so far, oldest first, for the repetition penalty.
  virtual std::span<const int32_t> history(const DelayedStreams& steps, int k) const {
    return steps.column(k).subspan(1);
  }
  /// Returns whether a step only ends the segment and makes no frame. Must be overridden if
  /// SpokenModel::end is -1. If streams end one after another, call end_now() and return false.
  virtual bool ends(DelayedStreams& /*steps*/, std::span<const int32_t> /*codes*/) const {
    return false;
  }
  /// Sends the frame that the last step completed, if any; `frame` [S] is a buffer for it. Returns
  /// the number of sent frames.
  virtual int emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out);
  /// Sends the frames that follow the last one of a segment that the model ended, at most `most`.
  /// Returns the number of sent frames.
  virtual int close(const DelayedStreams& /*steps*/, int64_t /*most*/, StepOutput& /*out*/) {
    return 0;
  }
  /// Returns the number of steps, without the pattern's tail, that make `frames` frames.
  virtual int64_t steps_of(int64_t frames) const { return frames; }
};

/// Returns script.rule(), changed for codes that get a mark and for `ignore_stop`.
SampleRule next_rule(const SpokenModel& model, const SpokenScript& script,
                     const DelayedStreams& steps, int k, bool ignore_stop);

/// The sequence of one request.
class SpokenSequence final : public Sequence {
 public:
  static constexpr int kMostStreams = 64;

  /// Checks a request and opens its sequence. `model` must outlive the sequence. If `script` is an
  /// Error, returns that Error.
  static Result<Opened> open(const SpokenModel& model, Result<std::unique_ptr<SpokenScript>> script,
                             const SpeechRequest& request);

  int prompt_rows() const override { return std::max(1, prompt_.size()); }
  int max_steps() const override;
  bool ready() const override { return !prompt_.empty(); }
  std::optional<float> guidance() const override {
    return model_.companions ? guidance_ : std::nullopt;
  }
  std::span<const int32_t> prompt_ids() const override { return prompt_.written(); }
  void prefix_keys(bool companion, std::vector<uint64_t>& keys) const override;
  void rows(int first, bool companion, InputRows& out) const override;
  const SampleParams& sampling(int k) const override { return k > 0 ? inner_sampling_ : sampling_; }
  SampleRule rule(int k) const override {
    return next_rule(model_, *script_, steps_, k, ignore_stop_);
  }
  std::span<const int32_t> history(int k) const override;
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;
  /// Accepts only the end of an input, and no frames.
  Status take(int port, const Frames& frames) override;

  uint64_t seed() const { return seed_; }
  /// Returns the scale of guidance, for stages that guide without a companion; 1: no guidance.
  float scale() const { return guidance_.value_or(1); }
  /// Returns the number of frames that were sent.
  int64_t frames() const { return frames_; }
  /// Returns the script, for stages after the model whose streams need it.
  const SpokenScript& script() const { return *script_; }

 private:
  SpokenSequence(const SpokenModel& model, std::unique_ptr<SpokenScript> script,
                 const SpeechRequest& request);
  /// Numbers of first rows of a new prompt whose cached values are kept.
  struct Kept {
    int rows = 0, companion_rows = 0;
  };
  Kept begin_segment();
  Verdict end_segment();
  bool ends(std::span<const int32_t> codes);
  int64_t frames_left() const;
  int rows_fed_before(const Prompt& fed, const Prompt& next) const;
  void step_row(int step, std::span<int32_t> ids) const;

  const SpokenModel& model_;
  const std::unique_ptr<SpokenScript> script_;
  const SampleParams sampling_, inner_sampling_;
  const std::optional<float> guidance_;
  const uint64_t seed_;
  const int64_t max_frames_;  // RequestTerms::max_frames; 0: the text sets the bound
  const bool ignore_stop_;

  TextPlan text_;
  std::deque<SpokenSegment> past_;
  SpokenSegment now_;
  Prompt prompt_;     // the current segment's; empty while no segment is complete
  Prompt companion_;  // empty without guidance
  DelayedStreams steps_;
  // frames sent in all segments, and in the segments before this one
  int64_t frames_ = 0, frames_before_ = 0;
};

}  // namespace syrinx
