// XEUS, ESPnet's encoder of speech in four thousand languages: samples at 16 kHz to rows, 50 a
// second. The whole recording is scaled to mean 0 and variance 1. Seven convolutions follow, each
// with a norm, then E-Branchformer blocks. One branch of a block attends to all rows; a convolution
// over about a second of rows gates the other. The work is divided into pieces of some tens of
// milliseconds. CPU only, in f32: small differences could select other units. Const after
// construction, shared by threads. Sources: arXiv:2407.00837; espnet:espnet2/{ssl/espnet_model.py,
// asr/frontend/cnn.py, asr/encoder/e_branchformer_encoder.py, asr/layers/cgmlp.py}. N rows, W
// width, C channels of the convolutions, G width of the gated branch.
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

/// Sizes of the network. Sizes that no tensor determines are those of espnet/xeus.
struct XeusConfig {
  static constexpr int64_t kHeads = 8;
  int64_t channels = 512, width = 1024, ffn = 4096, gated = 4096, blocks = 19;
  int64_t gate_taps = 31, merge_taps = 31;
  int64_t position_taps = 128, position_groups = 16;

  static XeusConfig of(const Weights& weights);
};

/// The network with its weights.
class Xeus {
 public:
  static constexpr int kSampleRate = 16000;  ///< Hz
  static constexpr int64_t kHop = 320;       ///< samples between two rows
  static constexpr int64_t kLeast = 400;     ///< samples needed for the first row

  /// `weights` contains frontend, preencoder and encoder, as published. The encoder returns the
  /// output of block `layer`, counted from 0, and does not run later blocks. The last block's
  /// output passes through one more norm. A `layer` beyond the last block means the last block.
  Xeus(const XeusConfig& config, const Weights& weights, int64_t layer);

  const XeusConfig& config() const { return config_; }
  /// Returns the number of rows N; at least 1 from kLeast samples on.
  static int64_t rows(int64_t samples) {
    return samples < kLeast ? 0 : (samples - kLeast) / kHop + 1;
  }
  /// Estimates the number of pieces for a recording of `samples` samples.
  int64_t pieces(int64_t samples) const;
  /// Encodes `samples` (at least kLeast) to rows [N, W]. Returns the work as pieces; a piece uses
  /// the context in `ctx` when it runs. Samples, rows, `ctx` and this object must outlive the
  /// pieces. The work needs 45 KB a row until it is done.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& rows) const;
  size_t bytes() const;

 private:
  struct Conv {
    CausalConv1d conv;
    LayerNorm norm;
  };
  /// A feed-forward network. Its output is added with the weight 1/2.
  struct Ffn {
    LayerNorm norm;
    PackedLinear up, down;
  };
  struct Block {
    Ffn first, last;
    LayerNorm before_attention, before_gated, gate_norm, norm;
    PackedLinear qkv, attended, widen, narrow, merge;
    PackedConv1d gate, around;
  };
  struct Work;

  static Ffn load_ffn(const Weights& block, const std::string& name, const XeusConfig& config);
  Block load_block(const Weights& weights) const;
  void add(StepContext& ctx, const Ffn& ffn, const View& x) const;
  Pieces convolve(StepContext* const& ctx, std::span<const float> samples, Tensor& x) const;
  Pieces place(StepContext* const& ctx, Tensor& x) const;
  void branch(StepContext& ctx, const Block& block, Work& work, int64_t begin, int64_t end) const;
  void gather(StepContext& ctx, const Block& block, Work& work, int64_t begin, int64_t end) const;
  void join(StepContext& ctx, const Block& block, Work& work, int64_t begin, int64_t end) const;

  XeusConfig config_;
  std::vector<Conv> convs_;
  PackedLinear project_;
  ConvPositions positions_;
  std::vector<Block> blocks_;
  LayerNorm norm_;  // norm after the last block; empty if the last block is not run
};

}  // namespace syrinx
