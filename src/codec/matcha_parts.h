// Parts of Matcha-TTS that causal and other U-Nets of CosyVoice and related models share: the
// encoding of time, and the transformer blocks without their attention. Source:
// Matcha-TTS:matcha/models/components/{decoder,transformer}.py. C channels, activations f32.
#pragma once

#include "codec/flow_time.h"
#include "nn/layers.h"

namespace syrinx {

constexpr float kMatchaNormEps = 1e-5f;  ///< default epsilon of torch's nn.LayerNorm

struct MatchaBlock {
  /// `weights`: the scope of a block. `inner`: the number of columns of the queries.
  MatchaBlock(const Weights& weights, int64_t channels, int64_t inner, WeightType type);
  /// Adds the output of the MLP, the block's second half, to x [rows, C].
  void run_mlp(StepContext& ctx, const View& x) const;
  void move_to(Device device) {
    syrinx::move_to(device, before_attention, before_mlp, qkv, out, up, down);
  }
  size_t bytes() const { return qkv.bytes() + out.bytes() + up.bytes() + down.bytes(); }

  LayerNorm before_attention, before_mlp;
  PackedLinear qkv, out, up, down;
};

/// Computes mish(time_mlp(t)) of every step, [steps, 4 C] in ctx's arena, from `in` sines and
/// cosines of t. For a schedule with ends: mish(time_embed_mixer(time_mlp(t), time_mlp(end))).
View embed_matcha_times(StepContext& ctx, const Weights& weights, const FlowSchedule& schedule,
                        int64_t in, int64_t channels);
/// Computes what the resnet of the scope `weights` adds for the encoded `time`: [steps, C].
Tensor take_resnet_time(const Weights& weights, int64_t channels, const View& time);

/// Loads a convolution of one tap as a linear.
PackedLinear load_one_tap(const Weights& weights, int64_t out, int64_t in, WeightType type);

}  // namespace syrinx
