// Turns speech tokens into mel frames, in whole blocks of 25 tokens. Requests with the full flow
// use whole segments instead. Blocks are counted from the beginning of the voice's prompt, so a
// stream's first block may be shorter; with S3FlowConfig::whole_prompt, from the prompt's end. The
// sequence that feeds the stage, or that sequence's script, is an S3State. Const after construction
// except a locked cache of prompts; any number of executors.
#pragma once

#include <list>
#include <mutex>

#include "families/s3/state.h"
#include "model/stage.h"

namespace syrinx {

/// The noise from which the flow makes the frames after the prompt.
enum class S3Noise : uint8_t {
  kFixed,   ///< the table that CosyVoice2 draws once, with torch's seed 0, indexed by position
  kSeeded,  ///< drawn with the request's seed; the prompt's noise comes from the table, so streams
            ///< can share it
};

/// The last value of a frame that the flow sends, after the frame's `ratio` mel frames.
struct S3Mark {
  bool starts = false;  ///< a new segment begins here (false for the first segment)
  int unheard = 0;      ///< number of first mel frames that belong to the prompt

  static S3Mark of(float value) {
    const int bits = static_cast<int>(value);
    return {(bits & 1) != 0, bits >> 1};
  }
  float value() const { return static_cast<float>((starts ? 1 : 0) + 2 * unheard); }
};

/// The flow, as a chunk stage.
class S3FlowStage : public ChunkStage {
 public:
  S3FlowStage(const S3Flow& flow, S3Noise noise);

  Device device() const override { return flow_.device(); }
  FrameType in() const override { return {Flow::kCodes, 1}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(mel_width_) + 1}; }
  Bundle bundle(const Sequence& request) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Ends a chunk at the end of the next block whose lookahead has arrived, or of the segment.
  int cut(const StreamState&, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& stream, const ChunkJob& job) const override;

 private:
  struct Stream;
  struct Work;
  void begin_piece(StepContext& ctx, Work& work) const;
  void solve(StepContext& ctx, std::span<Work*> works) const;
  void end_piece(Work& work) const;
  std::shared_ptr<const S3FlowVoice> known(S3FlowVoice voice) const;
  S3FlowState begin(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice) const;
  void fill_noise(int64_t frame, std::span<float> out) const;

  const S3Flow& flow_;
  S3Noise noise_;
  int64_t mel_width_;
  std::vector<float> table_;  // [mel][kTableFrames]

  /// The flow's state after the prompt of a recently used voice.
  struct Prompt {
    std::shared_ptr<const S3FlowVoice> voice;
    std::shared_ptr<const S3FlowState> state;
  };
  mutable std::mutex mutex_;
  mutable std::list<Prompt> prompts_;
};

}  // namespace syrinx
