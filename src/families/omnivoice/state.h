// One request of OmniVoice: its text in segments, and the canvas of the current one. A segment is a
// sentence, or a piece of a long one. Its steps are the passes over its canvas, or parts of them;
// the last step sends all frames. Without a recording, the first segment becomes the recording of
// later segments, as in the authors' program. Used by one thread at a time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "families/omnivoice/canvas_lm.h"
#include "families/omnivoice/length.h"
#include "families/omnivoice/text.h"
#include "families/spoken/text_plan.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx::omnivoice {

/// RMS to which quieter recordings are raised, as in the authors' program.
inline constexpr float kLevel = 0.1f;

/// The recording that is part of a canvas.
struct Heard {
  std::string text;             ///< its words, with a full stop or other mark at the end
  std::vector<int32_t> frames;  ///< [R, C]; empty: no recording
  float level = 1;              ///< RMS of the recording
};

/// The sequence of a request.
class State : public Sequence {
 public:
  /// Opens a request. `heard` is the voice's recording.
  static Result<std::unique_ptr<Sequence>> open(const ModelConfig& config, const Prompter& prompter,
                                                double frame_rate, Style style, Heard heard,
                                                const SpeechRequest& request);

  /// Returns the next step of the pass over the canvas. Only for the stage, which then runs it.
  CanvasPass next_pass();
  /// Returns the factor of the samples. It undoes the raising of a quiet recording (kLevel).
  float gain() const;
  /// Returns the frames of the current canvas [T, C], with masks.
  std::span<const int32_t> canvas() const { return frames_; }

  int prompt_rows() const override { return 1; }
  int max_steps() const override { return kPasses * parts_; }
  bool ready() const override { return !ids_.empty(); }
  std::span<const int32_t> prompt_ids() const override { return ids_; }
  const SampleParams& sampling(int) const override { return greedy_; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override;
  Status append_text(std::string_view text, bool last) override;

 private:
  State(const ModelConfig& config, const Prompter& prompter, double frame_rate, Style style,
        Heard heard, const SpeechRequest& request);
  std::vector<std::string> split(std::string_view text, bool whole) const;
  Result<std::vector<int32_t>> encode(std::string_view segment);
  int64_t frames_of(std::string_view text) const;
  bool begin_segment();

  const ModelConfig& config_;
  const Prompter& prompter_;
  const double frame_rate_;  // frames per second
  const Style style_;
  Heard heard_;
  Pace pace_;
  int64_t heard_frames_ = 0;  // frames of the recording, or of the segment that stands for it
  int64_t waiting_ids_ = 0;   // ids of the segments that wait
  const float speed_, guidance_, temperature_;
  const uint64_t seed_;
  const int64_t max_frames_;  // bound of the request; 0: no bound
  const bool repeats_;        // repeats its segments up to max_frames_
  SampleParams greedy_;

  /// A segment that waits, or the current one.
  struct Segment {
    std::vector<int32_t> ids = {};
    int64_t frames = 0;
    bool recorded = false;  // frames of a recording follow the ids
  };
  std::deque<Segment> waiting_;  // without ids, which text_ has
  bool first_ = true;            // no segment was encoded
  TextPlan text_;
  std::vector<Segment> again_;  // the segments to repeat, if repeats_
  size_t repeated_ = 0;
  std::vector<int32_t> ids_;     // ids of the current segment; empty: waits for text
  bool recorded_ = false;        // Segment::recorded of the current segment
  std::vector<int32_t> frames_;  // [T, C] of the current canvas
  int pass_ = 0;
  int part_ = 0, parts_ = 1;   // number of the step in the pass, and steps of each pass
  std::vector<float> kept_;    // CanvasPass::kept
  uint32_t steps_ = 0;         // passes of the request so far
  int64_t frames_before_ = 0;  // frames of earlier segments
};

}  // namespace syrinx::omnivoice
