// HuBERT as in transformers, in its "base" form. X-Codec uses it to encode words and voice, in
// addition to the sound itself. Converts samples at 16 kHz to rows, 50 a second: seven
// convolutions, the first one normed over the whole recording, then blocks in which every row
// attends to all rows. The output is the mean of the first block's input and of all blocks'
// outputs. The work is divided into pieces of some tens of milliseconds. CPU only, in f32, because
// small differences could select other codes. Const after construction, shared by threads. Source:
// transformers:src/transformers/models/hubert/modeling_hubert.py. N rows, W width, C channels of
// the convolutions.
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

/// Sizes of the network. Sizes without a tensor are those of facebook/hubert-base-ls960.
struct HubertConfig {
  static constexpr int64_t kHeadDim = 64;
  int64_t channels = 512, width = 768, layers = 12, ffn = 3072;
  int64_t position_taps = 128, position_groups = 16;

  static HubertConfig of(const Weights& weights);
  /// Returns the number of heads; one if the width is not a multiple of kHeadDim.
  int64_t heads() const { return width % kHeadDim == 0 ? width / kHeadDim : 1; }
};

/// The network with its weights.
class Hubert {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int64_t kHop = 320;       ///< samples between two rows
  static constexpr int64_t kLeast = 400;     ///< samples needed for the first row

  /// `weights` is the scope that has feature_extractor, feature_projection and encoder.
  Hubert(const HubertConfig& config, const Weights& weights);

  const HubertConfig& config() const { return config_; }
  /// Returns the number of rows N; at least 1 from kLeast samples on.
  static int64_t rows(int64_t samples) {
    return samples < kLeast ? 0 : (samples - kLeast) / kHop + 1;
  }
  /// Encodes `samples` (at least kLeast) to rows [N, W]. Returns the work as pieces; a piece uses
  /// the context in `ctx` when it runs. Samples, rows, `ctx` and this object must outlive the
  /// pieces. The work needs 22 KB a row until it is done.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& rows) const;
  size_t bytes() const;

 private:
  struct Block {
    PackedLinear qkv, out, up, down;
    LayerNorm after_attention, after_mlp;
  };

  PackedLinear load_qkv(const Weights& attention) const;
  /// Computes the scale and shift per channel that norm the first convolution over a recording.
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
