// The estimator of CosyVoice2 and Chatterbox, in plain form or distilled to mean velocities: a
// causal U-Net of one level with transformer blocks. Source: CosyVoice:cosyvoice/flow/decoder.py
// (CausalConditionalDecoder), Matcha-TTS. Const after construction, shared by threads; a state is
// used by one call at a time. F frames of a chunk, C channels.
#pragma once

#include <vector>

#include "codec/flow_estimator.h"
#include "codec/matcha_parts.h"
#include "nn/layers.h"

namespace syrinx {

class S3FlowEstimator : public FlowEstimator {
 public:
  /// `weights`: the scope "decoder.estimator"; `schedule`: the time of each solver step, in [0, 1].
  S3FlowEstimator(const S3FlowConfig& config, const Weights& weights, const FlowSchedule& schedule,
                  WeightType type, int64_t max_frames);

  void run(StepContext& ctx, const Chunks& chunks, int64_t step, const View& x,
           const View& out) const override;
  size_t bytes() const override;

 private:
  struct Half {
    CausalConv1d conv;
    LayerNorm norm;
  };
  struct Resnet {
    Half first, second;
    PackedLinear residual;
    Tensor time;  ///< [steps, C], added between the two halves of the resnet
  };
  struct Section {
    Resnet resnet;
    std::vector<MatchaBlock> blocks;
    CausalConv1d conv;  ///< used only in the first and the last section
    bool has_conv = false;
  };

  std::vector<const CausalConv1d*> convolutions() const override;
  void move_weights(Device device) override;
  Half load_half(const Weights& weights, int64_t in, WeightType type) const;
  Section load_section(const Weights& weights, int64_t in, bool conv, const View& time,
                       WeightType type) const;
  View run_half(StepContext& ctx, const Half& half, Call& call, const View& x) const;
  View run_section(StepContext& ctx, const Section& section, Call& call, const View& x,
                   View* skip) const;
  void transform(StepContext& ctx, const MatchaBlock& block, Call& call, const View& x) const;

  std::vector<Section> sections_;
  Half last_;
  PackedLinear out_;
};

}  // namespace syrinx
