// What the U-Nets of CosyVoice's line, causal or not, have of Matcha-TTS: how the time is encoded,
// and the transformer blocks but for whom they attend to. Source:
// Matcha-TTS:matcha/models/components/{decoder,transformer}.py. C channels, activations f32.
#pragma once

#include "codec/flow_time.h"
#include "nn/layers.h"

namespace syrinx {

constexpr float kMatchaNormEps = 1e-5f;  ///< torch's default of nn.LayerNorm

struct MatchaBlock {
  /// `weights`: the scope of a block; `inner` columns of the queries.
  MatchaBlock(const Weights& weights, int64_t channels, int64_t inner, WeightType type);
  /// x [rows, C] += what the second half makes of it.
  void run_mlp(StepContext& ctx, const View& x) const;
  size_t bytes() const { return qkv.bytes() + out.bytes() + up.bytes() + down.bytes(); }

  LayerNorm before_attention, before_mlp;
  PackedLinear qkv, out, up, down;
};

/// mish(time_mlp(t)) of every step, [steps, 4 C], of `in` sines and cosines of it; in ctx's arena.
/// For a schedule with ends: mish(time_embed_mixer(time_mlp(t), time_mlp(end))).
View embed_matcha_times(StepContext& ctx, const Weights& weights, const FlowSchedule& schedule,
                        int64_t in, int64_t channels);
/// What the embedded `time` adds in the resnet of the scope `weights`, [steps, C].
Tensor take_resnet_time(const Weights& weights, int64_t channels, const View& time);

/// A convolution of one tap as a linear.
PackedLinear load_one_tap(const Weights& weights, int64_t out, int64_t in, WeightType type);

}  // namespace syrinx
