// The estimator of Step-Audio 2: a transformer whose blocks mix by attention, by two causal
// convolutions and by an MLP, each behind a norm that time shifts and scales (adaLN-zero). Queries
// and keys are normed by head; the convolutions are the only source of positions.
// Source: Step-Audio2:cosyvoice2/flow/decoder_dit.py (DiT). Const after construction, shared by
// threads. F frames of a chunk, W width.
#pragma once

#include <vector>

#include "codec/flow_estimator.h"
#include "nn/layers.h"

namespace syrinx {

class DitEstimator : public FlowEstimator {
 public:
  /// `config.dit` has the sizes; `weights`: the scope "decoder.estimator"; `times`: at which step
  /// s evaluates, in [0, 1].
  DitEstimator(const S3FlowConfig& config, const Weights& weights, std::span<const float> times,
               WeightType type, int64_t max_frames);

  State open(bool whole = false) const override;
  void run(StepContext& ctx, int64_t step, const View& x, State& state,
           const View& out) const override;
  size_t bytes() const override;

 private:
  /// What time makes of a block: vectors of W numbers.
  struct Modulation {
    Tensor values;  ///< [steps, parts, W]; scales have their 1 already
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
