// HuBERT as transformers has it, in the form of the "base" one: what X-Codecs hear of words and
// voices beside the sound itself. Samples at 16 kHz to rows, 50 a second: seven convolutions, the
// first one normed over the whole recording, then blocks in which every row sees every other; its
// output is the mean of what comes into the first block and out of each. The work is cut into
// pieces of some tens of milliseconds. CPU only, in f32: codes are decided by small differences.
// Const after construction, shared by threads.
// Source: transformers:src/transformers/models/hubert/modeling_hubert.py. N rows, W width, C
// channels of the convolutions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pieces.h"
#include "codec/conv_positions.h"
#include "codec/row_attention.h"
#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx {

/// Sizes, those of facebook/hubert-base-ls960 where no tensor determines them. A width that is not
/// a multiple of the heads' is one head.
struct HubertConfig {
  static constexpr int64_t kHeadDim = 64;
  int64_t channels = 512, width = 768, layers = 12, ffn = 3072;
  int64_t position_taps = 128, position_groups = 16;

  static HubertConfig of(const Weights& weights);
  int64_t heads() const { return width % kHeadDim == 0 ? width / kHeadDim : 1; }
};

/// The network with its weights.
class Hubert {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int64_t kHop = 320;       ///< samples of a row
  static constexpr int64_t kLeast = 400;     ///< samples that the first row takes

  /// `weights` is the scope that has feature_extractor, feature_projection and encoder.
  Hubert(const HubertConfig& config, const Weights& weights);

  const HubertConfig& config() const { return config_; }
  /// N, at least one for kLeast samples.
  static int64_t rows(int64_t samples) {
    return samples < kLeast ? 0 : (samples - kLeast) / kHop + 1;
  }
  /// `samples`, at least kLeast -> rows [N, W], in pieces that need the context in `ctx` while they
  /// run. Samples, rows, `ctx` and this outlive the pieces. Held meanwhile: 22 KB a row.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& rows) const;
  size_t bytes() const;

 private:
  struct Block {
    PackedLinear qkv, out, up, down;
    LayerNorm after_attention, after_mlp;
  };

  PackedLinear load_qkv(const Weights& attention) const;
  /// Scale and shift of each channel that norm the first convolution's rows over a recording.
  Pieces measure(StepContext* const& ctx, std::span<const float> samples, Tensor& norm) const;
  View first_rows(StepContext& ctx, std::span<const float> samples, int64_t begin,
                  int64_t end) const;
  Pieces convolve(StepContext* const& ctx, std::span<const float> samples, const Tensor& norm,
                  Tensor& x) const;
  Pieces place(StepContext* const& ctx, Tensor& x) const;
  Pieces attend(StepContext* const& ctx, const Block& block, RowAttention& attention,
                Tensor& x) const;

  HubertConfig config_;
  PackedConv1d first_;
  Tensor first_gain_, first_bias_;
  std::vector<CausalConv1d> convs_;
  LayerNorm feature_norm_, norm_;
  PackedLinear project_;
  ConvPositions positions_;
  std::vector<Block> blocks_;
};

}  // namespace syrinx
