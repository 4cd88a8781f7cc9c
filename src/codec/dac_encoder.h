// The convolutional encoder of DAC: samples to latent frames, through blocks of dilated residual
// units, a snake and a strided convolution. The encoder is not causal: every convolution is padded
// on both sides. A recording is encoded piece by piece. Each layer keeps the input that it still
// needs, and computes nothing twice. A recording has the same bits for any division into pieces.
// CPU only, in f32, because fewer bits would select other codes. Const after construction, shared
// by threads; a stream is used by one call at a time. Network: DacEncoder in
// transformers:src/transformers/models/dac/modeling_dac.py. D latent width; activations f32 [time,
// channels].
#pragma once

#include <cstdint>
#include <vector>

#include "codec/causal_layers.h"
#include "nn/row_queue.h"

namespace syrinx {

/// Sizes of the encoder. Plain data.
struct DacEncoderConfig {
  int64_t latent = 256;   ///< D: width of a latent frame
  int64_t channels = 64;  ///< channels after the first convolution; every block doubles them
  std::vector<int64_t> rates{8, 5, 4, 2, 3};

  /// Reads sizes from the tensors of the scope that has conv1, block.0, ... Sizes that no tensor
  /// determines keep their default.
  static DacEncoderConfig of(const Weights& weights);
};

/// The encoder with its weights.
class DacEncoder {
 public:
  /// State of one recording between two pieces.
  class Stream {
    friend class DacEncoder;
    std::vector<ConvState> convs;  // in the order of the network
    std::vector<RowQueue> beside;  // delayed input of each residual unit
    std::vector<int64_t> taken;    // number of rows that each strided convolution has read
  };

  DacEncoder(const DacEncoderConfig& config, const Weights& weights);

  const DacEncoderConfig& config() const { return config_; }
  /// Returns the number of frames of a recording with `samples` samples.
  int64_t frames(int64_t samples) const;
  Stream open() const;
  /// Encodes more samples, x [T, 1]. `last`: no samples follow. Returns the frames [N, D] that are
  /// now final, in memory of the arena.
  View run(StepContext& ctx, const View& x, bool last, Stream& stream) const;
  size_t bytes() const;

 private:
  struct Unit {
    causal::Snake before, inside;
    CausalConv1d conv;
    PackedLinear mix;
  };
  struct Block {
    std::vector<Unit> units;
    causal::Snake act;
    CausalConv1d down;
    int64_t rate = 1;
  };

  DacEncoderConfig config_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
