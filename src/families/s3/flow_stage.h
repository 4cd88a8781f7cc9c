// Speech tokens to mel frames, whole blocks of 25 tokens at a time. Blocks count from the beginning
// of the voice's prompt, so the first one of a stream is as short as the prompt leaves it.
// Const after construction but for the prompts it keeps, which are locked; any number of executors.
#pragma once

#include <list>
#include <mutex>

#include "families/s3/state.h"
#include "model/stage.h"

namespace syrinx {

/// What the flow starts from in frames after the prompt.
enum class S3Noise : uint8_t {
  kFixed,   ///< the table that CosyVoice2 draws once with torch's seed 0, by position
  kSeeded,  ///< numbers of the request's seed; the prompt's are the table's, so it can be shared
};

/// A frame that leaves the stage: ratio mel frames, then 1 at the beginning of a segment, else 0.
class S3FlowStage : public ChunkStage {
 public:
  S3FlowStage(const S3Flow& flow, S3Noise noise);

  FrameType in() const override { return {Flow::kCodes, 1}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(mel_width_) + 1}; }
  std::unique_ptr<StreamState> open(const Sequence&) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Up to the end of the next block once its lookahead has come, or to the end of the segment.
  int cut(const StreamState&, const WaitingFrames& waiting, int planned) const override;

 private:
  struct Stream;
  void run(StepContext& ctx, const ChunkJob& job) const;
  S3FlowState begin(StepContext& ctx, const std::shared_ptr<const S3FlowVoice>& voice) const;
  void fill_noise(int64_t frame, std::span<float> out) const;

  const S3Flow& flow_;
  S3Noise noise_;
  int64_t mel_width_;
  std::vector<float> table_;  // [mel][kTableFrames]

  /// Streams that have taken the prompts of the voices used last.
  struct Prompt {
    std::shared_ptr<const S3FlowVoice> voice;
    std::shared_ptr<const S3FlowState> state;
  };
  mutable std::mutex mutex_;
  mutable std::list<Prompt> prompts_;
};

}  // namespace syrinx
