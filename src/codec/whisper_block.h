// A block of Whisper's encoder with a past. A row attends to all earlier rows and to the rows of
// its own chunk, but not to rows from `seen` on. For encoders that process chunks or omit their
// last rows; for whole windows, whisper_encoder.h uses a Decoder. Const after
// construction, shared by threads; a past is used by one call at a time. W width.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/attention.h"
#include "kernels/conv.h"
#include "nn/layers.h"

namespace syrinx {

/// Names of a block's parts in a checkpoint.
struct WhisperBlockNames {
  const char *attention_norm, *q, *k, *v, *o, *mlp_norm, *up, *down;
};

/// Loads one of the convolutions of three taps before the blocks. Convolutions have few weights, so
/// they are kept in f32 or bf16. `narrow`: the type if `type` is not f32.
PackedConv1d load_whisper_conv(const Weights& weights, int64_t out, int64_t in, WeightType type,
                               WeightType narrow = WeightType::kBF16);

/// One block with its weights.
class WhisperBlock {
 public:
  static constexpr float kNormEps = 1e-5f;

  /// Keys and values of a stack of blocks.
  struct Past {
    Past() = default;
    Past(int64_t layers, int64_t heads, int64_t dim, int64_t most_rows, DType type, Device device);
    KvPool pool;
    std::vector<int32_t> pages;
    int64_t rows = 0;  ///< number of rows so far, including the current chunk
  };

  WhisperBlock(const Weights& weights, int64_t width, int64_t heads, int64_t ffn,
               const WhisperBlockNames& names, WeightType type);

  /// Runs the block on x [R, W], the past's last rows, in place. They attend to rows [0, seen).
  void run(StepContext& ctx, const Past& past, int layer, int64_t seen, const View& x) const;
  /// Moves the weights to a GPU, where pasts must be, too.
  void move_to(Device device);
  size_t bytes() const;

 private:
  int64_t width_, heads_, ffn_;
  LayerNorm before_attention_, before_mlp_;
  PackedLinear qkv_, out_, up_, down_;
};

}  // namespace syrinx
