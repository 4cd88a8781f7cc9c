// The estimator of GLM-4-Voice's flow: a U-Net of two levels over time that computes the direction
// from noise towards a mel. It is not causal: norms and attention run over the whole sequence.
// Source: GLM-4-Voice:cosyvoice/flow/decoder.py (ConditionalDecoder) with the blocks of
// Matcha-TTS:matcha/models/components/{decoder,transformer}.py.
// Const after construction, shared by threads. B sequences in one call (with and without
// conditions), T mel frames of each, C channels; activations f32.
#pragma once

#include <span>
#include <vector>

#include "codec/glm_flow_config.h"
#include "codec/matcha_parts.h"
#include "kernels/attention.h"
#include "kernels/conv.h"
#include "nn/group_norm.h"

namespace syrinx {

class GlmUnet {
 public:
  static constexpr int64_t kBranches = 2;  ///< B: with and without conditions

  /// `weights` is the scope of the estimator; `schedule` has the times of its steps.
  GlmUnet(const GlmFlowConfig& config, const Weights& weights, const FlowSchedule& schedule,
          WeightType type);

  /// Returns the number of input columns: x, mean, speaker and prompt.
  int64_t in() const { return 4 * config_.mel; }
  /// Computes the flow's velocity at step `step`: x [B * T, in()] -> out [B * T, mel].
  void run(StepContext& ctx, int64_t step, const View& x, const View& out) const;
  /// Moves the weights to a GPU; the contexts and inputs of run() must then be there.
  void move_to(Device device);
  Device device() const { return out_.device(); }
  size_t bytes() const;

 private:
  struct Half {
    PackedConv1d conv;
    GroupNorm norm;
    void move_to(Device device);
  };
  /// A resnet and transformer blocks.
  struct Section {
    Half first, second;
    PackedLinear residual;
    Tensor time;  // [steps, C]: what the resnet adds at each step's time
    std::vector<MatchaBlock> blocks;
    void move_to(Device device);
  };
  /// Frames of one level, with the buffers of keys and values during a layer.
  struct Level;

  Half load_half(const Weights& weights, int64_t in, WeightType type) const;
  Section load_section(const Weights& weights, int64_t in, const View& time, WeightType type) const;
  Level level(StepContext& ctx, int64_t frames) const;
  View run_half(StepContext& ctx, const Half& half, const View& x) const;
  View run_section(StepContext& ctx, const Section& section, int64_t step, const Level& level,
                   const View& x) const;
  void transform(StepContext& ctx, const MatchaBlock& block, const Level& level,
                 const View& x) const;
  View up(StepContext& ctx, const View& x, int64_t frames) const;

  GlmFlowConfig config_;
  DType kv_type_ = DType::kF32;
  Section down_, inner_down_, inner_up_, up_;
  std::vector<Section> middle_;
  PackedConv1d halve_, inner_conv_, last_conv_;
  PackedConvTranspose1d double_;
  Half last_;
  PackedLinear out_;
};

}  // namespace syrinx
