// Voxtral's acoustic transformer with its solver. Makes the codes of a frame after the first from
// a row of the language model: Euler's method leads noise to numbers, which are rounded to codes.
// Each estimate reads three rows (the numbers, the time and the model's row) that attend to each
// other without positions. Guidance compares it with an estimate for a row of zeros. Frames do not
// influence each other. Const after construction, shared by threads. Network:
// vllm-omni:vllm_omni/model_executor/models/voxtral_tts/voxtral_tts_audio_generation.py
// (FlowMatchingAudioTransformer). A: codes of a frame after the first. E: frames. H: width.
#pragma once

#include <vector>

#include "families/voxtral_tts/config.h"
#include "io/weights.h"

namespace syrinx::voxtral_tts {

/// The network that estimates the direction from noise to a frame, with its weights.
class FlowHead {
 public:
  /// Loads the layers. `weights`: the scope "acoustic_transformer.".
  FlowHead(const ModelConfig& config, const Weights& weights, WeightType type);
  /// Moves the weights, for operands on the device.
  void move_to(Device device);
  /// Computes the numbers of E frames from noise, in place in x [E, A]; rows [E, H] of the language
  /// model. guidance [2, E]: the factors of the estimates with and without the condition, which run
  /// in one batch; they add up to 1. Empty: no guidance, at half the cost.
  void run(StepContext& ctx, const View& rows, const View& guidance, const View& x) const;
  size_t bytes() const { return weight_bytes(in_, condition_, out_, decoder_); }

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
