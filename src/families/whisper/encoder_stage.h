// The encoder as a chunk node. A window arrives in frames of one hop and becomes the decoder's
// memory as a whole. But its work is cut into chunks, so that other batches can run in between:
// each chunk takes one frame, and the last chunk takes all remaining frames. Only the last chunk
// writes rows, because a window has far fewer rows than frames.
#pragma once

#include "codec/whisper_encoder.h"
#include "model/graph.h"

namespace syrinx::whisper {

class EncoderStage : public ChunkStage {
 public:
  EncoderStage(const WhisperEncoderConfig& config, const Weights& weights, WeightType type)
      : encoder_(config, weights, type) {}

  static constexpr int kFrames = WhisperWindow::kFrames + 2 * WhisperWindow::kMargin;
  /// The first chunk contains the whole window, mostly as lookahead.
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 1, .lookahead = kFrames};

  const WhisperEncoder& encoder() const { return encoder_; }
  void move_to(Device device) { encoder_.move_to(device); }
  Device device() const override { return encoder_.device(); }
  FrameType in() const override { return {Flow::kSamples, WhisperWindow::kHop}; }
  FrameType out() const override {
    return {Flow::kRows, static_cast<int>(encoder_.config().width)};
  }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& state, const ChunkJob& job) const override;

 private:
  WhisperEncoder encoder_;
};

}  // namespace syrinx::whisper
