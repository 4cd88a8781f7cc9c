// Turns frames of speech into samples, one utterance at a time. AdaIN normalises over a whole
// utterance, so all samples of the utterance are computed before the first one is sent. Const after
// construction; any number of executors.
#pragma once

#include "families/kokoro/voder.h"
#include "kernels/sample.h"
#include "model/stage.h"

namespace syrinx::kokoro {

/// Number of the philox_normal() stream for the source's noise. Its key is the request's seed. Its
/// step is the index of the pitch value in the request, 80 per second.
inline constexpr uint32_t kSourceNoise = 0x4B4B0001;

/// Values after the 2 H features in a frame's row (ProsodyJob::features).
enum RowPart : int {
  kPhonemes,  ///< phonemes of the utterance that begins with this frame, without the id 0 at both
              ///< ends; otherwise 0
  kFrames,    ///< frames of the utterance that begins with this frame; otherwise 0
  kRises,     ///< 1 if the pitch rises from this frame to the end of the utterance; otherwise 0
  kRowParts
};

/// A chunk of the stage is one utterance.
class SpeechStage : public ChunkStage {
 public:
  SpeechStage(const KokoroConfig& config, const Voder& voder) : config_(config), voder_(voder) {}

  Device device() const override { return voder_.device(); }
  FrameType in() const override {
    return {Flow::kRows, static_cast<int>(2 * config_.hidden) + kRowParts};
  }
  FrameType out() const override { return {Flow::kSamples, static_cast<int>(config_.hop())}; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Returns the number of frames of the next utterance once all have arrived, else 0.
  int cut(const StreamState&, const WaitingFrames& waiting, int planned) const override;

 private:
  struct Stream;
  void run(StepContext& ctx, ChunkJob& job) const;

  const KokoroConfig& config_;
  const Voder& voder_;
};

}  // namespace syrinx::kokoro
