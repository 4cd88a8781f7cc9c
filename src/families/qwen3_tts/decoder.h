// A stack of Qwen3 blocks (RMS norm, attention with qk-norm and half-split RoPE, SwiGLU) over a
// paged cache: the talker is one, the code predictor another. Const after construction.
// N rows in the ragged batch, H width; activations f32.
#pragma once

#include <span>
#include <vector>

#include "families/qwen3_tts/config.h"
#include "io/weights.h"
#include "kernels/attention.h"
#include "kernels/linear.h"
#include "kernels/rope.h"
#include "tensor/context.h"

namespace syrinx::qwen3_tts {

class Decoder {
 public:
  /// `weights` holds "layers.N." and "norm."; positions run below `max_positions`.
  Decoder(const DecoderConfig& config, const Weights& weights, WeightType type,
          int64_t max_positions);

  KvSpec kv_spec() const;
  int64_t hidden() const { return config_.hidden; }
  int64_t max_positions() const { return rope_.max_positions(); }
  size_t bytes() const;

  /// Runs all layers over x [N, H] in place, without the last norm; keys and values go into `kv`.
  void run(StepContext& ctx, const View& x, const KvPool& kv, const Ragged& ragged) const;
  /// The last norm of some rows: out[i] = norm(x[rows[i]]).
  void finish(StepContext& ctx, const View& x, std::span<const int32_t> rows,
              const View& out) const;

 private:
  struct Layer {
    Tensor norm1, norm2, q_norm, k_norm;
    PackedLinear qkv, out, gate_up, down;
  };
  static Layer load_layer(const DecoderConfig& config, const Weights& weights, WeightType type);

  DecoderConfig config_;
  DType kv_type_;
  std::vector<Layer> layers_;
  Tensor norm_;
  RopeTable rope_;
};

}  // namespace syrinx::qwen3_tts
