// The estimator of Step-Audio 2: a transformer whose blocks have attention, two causal convolutions
// and an MLP. A norm precedes each of these, shifted and scaled as a function of time (adaLN-zero).
// Queries and keys are normed per head; only the convolutions provide information on positions.
// Source: Step-Audio2:cosyvoice2/flow/decoder_dit.py (DiT). Const after construction, shared by
// threads. F frames of a chunk, W width.
#pragma once

#include <vector>

#include "codec/flow_estimator.h"
#include "nn/layers.h"

namespace syrinx {

class DitEstimator : public FlowEstimator {
 public:
  /// `config.dit` has the sizes; `weights`: the scope "decoder.estimator"; `times`: the time of
  /// each solver step, in [0, 1].
  DitEstimator(const S3FlowConfig& config, const Weights& weights, std::span<const float> times,
               WeightType type, int64_t max_frames);

  State open(bool whole = false) const override;
  void run(StepContext& ctx, int64_t step, const View& x, State& state,
           const View& out) const override;
  size_t bytes() const override;

 private:
  /// Shifts, scales and gates of a block as functions of time: vectors of W numbers.
  struct Modulation {
    Tensor values;  ///< [steps, parts, W]; 1 is already added to the scales
    View part(int64_t step, int64_t number) const;
  };
  struct Block {
    Modulation time;
    PackedLinear qkv, out;
    LayerNorm q_norm, k_norm;
    CausalConv1d first, second;
    LayerNorm between;
    PackedLinear up, down;
  };

  Modulation load_modulation(const Weights& weights, int64_t parts, const View& time) const;
  View embed_times(const Weights& weights, std::span<const float> times, StepContext& ctx) const;
  Block load_block(const Weights& weights, const View& time, WeightType type) const;
  void run(StepContext& ctx, const Block& block, Call& call, const View& x) const;

  DitConfig dit_;
  PackedLinear in_, out_;
  std::vector<Block> blocks_;
  Modulation last_;
};

}  // namespace syrinx
