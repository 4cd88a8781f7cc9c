// The audio encoder as a chunk node. A piece of a recording arrives in frames, each with one mel
// frame's samples, the last one filled with zeros. All rows of the piece are made together. The
// work is cut into chunks, so that other batches can run in between: each chunk takes one frame,
// and the last takes the rest. The rows of pieces are cached by key. Const after construction,
// shared by threads.
#pragma once

#include "codec/step_audio_encoder.h"
#include "families/hearing/heard.h"
#include "model/graph.h"

namespace syrinx::step_audio2 {

class HearingStage : public ChunkStage {
 public:
  explicit HearingStage(const StepAudioEncoder& encoder)
      : encoder_(encoder), before_(kHeardBeforeBytes) {}

  static constexpr int kFrameSamples = 160;
  static constexpr int kPieceFrames = static_cast<int>(StepAudioEncoder::kPiece / kFrameSamples);
  /// The first chunk of a piece contains the whole piece, mostly as lookahead.
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 1, .lookahead = kPieceFrames};
  static int64_t frames(int64_t samples) { return (samples + kFrameSamples - 1) / kFrameSamples; }

  Device device() const override { return encoder_.device(); }
  FrameType in() const override { return {Flow::kSamples, kFrameSamples}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(encoder_.config().out)}; }
  Bundle bundle(const Sequence& answer) const override { return heard_bundle(answer); }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& state, const ChunkJob& job) const override;

 private:
  void run(StepContext& ctx, ChunkJob& job) const;
  int chunks(int64_t samples) const;
  const StepAudioEncoder& encoder_;
  mutable HeardBefore before_;  // rows of pieces of recordings that were encoded before
};

}  // namespace syrinx::step_audio2
