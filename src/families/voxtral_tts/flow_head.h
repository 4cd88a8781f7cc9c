// Voxtral's acoustic transformer with its solver. Makes the codes of a frame after the first from
// a row of the language model: Euler's method leads noise to numbers, which are rounded to codes.
// Each estimate reads three rows (the numbers, the time and the model's row) that attend to each
// other without positions. Guidance compares it with an estimate for a row of zeros. Frames do not
// influence each other. CPU only. Const after construction, shared by threads. Network:
// vllm-omni:vllm_omni/model_executor/models/voxtral_tts/voxtral_tts_audio_generation.py
// (FlowMatchingAudioTransformer). A: codes of a frame after the first. H: width.
#pragma once

#include <span>

#include "families/voxtral_tts/config.h"
#include "io/weights.h"

namespace syrinx::voxtral_tts {

/// A frame that FlowHead computes.
struct FrameJob {
  const float* row = nullptr;    ///< [H], row of the language model
  std::span<const float> noise;  ///< [A]
  float scale = 1;               ///< scale of guidance; 1: no guidance, at half the cost
  std::span<int32_t> codes;      ///< [A], output, in [kMarks, kMarks + levels); -1: not a number
};

/// The network that estimates the direction from noise to a frame, with its weights.
class FlowHead {
 public:
  /// Loads the layers. `weights`: the scope "acoustic_transformer.".
  FlowHead(const ModelConfig& config, const Weights& weights, WeightType type);
  /// Computes the frames. Rows with and without the condition run in one batch.
  void run(StepContext& ctx, std::span<const FrameJob> jobs) const;
  size_t bytes() const;

 private:
  void embed_times(const Weights& weights);
  /// Computes the directions v [R, A] at x [R, A] and time number `step`. conditions [R, H].
  void estimate(StepContext& ctx, int step, const View& conditions, const View& x,
                const View& v) const;

  ModelConfig config_;
  PackedLinear in_, condition_, out_;  // A -> H, H -> H, H -> A
  Decoder decoder_;
  std::vector<float> times_;  // [steps + 1]
  Tensor time_rows_;          // [steps, H]
};

}  // namespace syrinx::voxtral_tts
