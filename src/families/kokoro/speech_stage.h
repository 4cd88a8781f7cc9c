// Frames of speech to samples, an utterance at a time: AdaIN normalises over all of one, so all of
// it is computed before its first sample is sent. Const after construction; any number of
// executors.
#pragma once

#include "families/kokoro/voder.h"
#include "kernels/sample.h"
#include "model/stage.h"

namespace syrinx::kokoro {

/// Stream of philox_normal() for the source's noise, with the request's seed as the key; the step
/// is the number of the pitch in the request, 80 a second.
inline constexpr uint32_t kSourceNoise = 0x4B4B0001;

/// Numbers behind the 2 H features of a frame's row (ProsodyJob::features).
enum RowPart : int {
  kPhonemes,  ///< of the utterance that the frame begins, without the two at its ends; else 0
  kFrames,    ///< of that utterance
  kRowParts
};

class SpeechStage : public ChunkStage {
 public:
  SpeechStage(const KokoroConfig& config, const Voder& voder) : config_(config), voder_(voder) {}

  FrameType in() const override {
    return {Flow::kRows, static_cast<int>(2 * config_.hidden) + kRowParts};
  }
  FrameType out() const override { return {Flow::kSamples, static_cast<int>(config_.hop())}; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// All frames of the next utterance, once they are there.
  int cut(const StreamState&, const WaitingFrames& waiting, int planned) const override;

 private:
  struct Stream;
  void run(StepContext& ctx, ChunkJob& job) const;

  const KokoroConfig& config_;
  const Voder& voder_;
};

}  // namespace syrinx::kokoro
