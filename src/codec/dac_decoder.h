// The convolutional decoder of DAC and SNAC: latent frames to samples, through blocks of snake,
// transposed convolution and dilated residual units. The decoder is not causal: every convolution
// is padded on both sides, so a sample depends on the input up to delay() samples later. In a
// stream, each layer keeps the input that it still needs, and computes nothing twice. A stream has
// the same bits for any division into chunks, and does not depend on the other streams of a call.
// Const after construction, shared by threads; a state is used by one call at a time. Networks:
// descript-audio-codec:dac/model/dac.py, snac:snac/layers.py. T frames, D latent width; activations
// f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/conv.h"

namespace syrinx {

/// Naming schemes of the tensors in the decoder's scope.
enum class DacNames {
  kSequential,  ///< model.0, model.1.block.0.alpha, ...: names of DAC's and SNAC's authors
  kNamed        ///< conv1, block.0.snake1.alpha, ...: names of transformers' DacModel
};

/// Sizes of the decoder. Plain data.
struct DacDecoderConfig {
  int64_t latent = 1024;    ///< D: width of a latent frame
  int64_t channels = 1536;  ///< channels after the first convolution; every block halves them
  std::vector<int64_t> rates{8, 8, 4, 2};
  bool depthwise = false;  ///< whether the first and the dilated convolutions are depthwise (SNAC)
  bool noise = false;      ///< whether blocks add noise, scaled by a linear of the input (SNAC)
  bool bounded = true;     ///< whether the output passes through tanh (not in X-Codec)
  DacNames names = DacNames::kSequential;

  /// Returns the number of samples in a frame.
  int64_t hop() const;
  /// Returns by how many samples the output lags behind the input until the stream ends.
  int64_t delay() const;
  /// Returns how many frames must follow a chunk before all its samples are final.
  int64_t lookahead() const { return (delay() + hop() - 1) / hop(); }
};

/// State of one stream between calls.
class DacDecoderState {
 private:
  friend class DacDecoder;
  std::vector<ConvState> convs_, delays_;  // in the order of the network
  std::vector<int64_t> noise_at_;          // index of each block's next noise row
  uint64_t seed_ = 0;
};

/// Input and output of one stream in one call.
struct DacDecoderJob {
  DacDecoderState* state = nullptr;
  View latent;  ///< [T, D]
  View out;     ///< [samples(before, T, last)] f32; in [-1, 1] if the decoder is bounded
  bool last = false;
};

/// The decoder with its weights.
class DacDecoder {
 public:
  DacDecoder(const DacDecoderConfig& config, const Weights& weights, WeightType type);

  const DacDecoderConfig& config() const { return config_; }
  /// `seed` determines the noise. The noise of a sample is the same for any division into chunks.
  DacDecoderState open(uint64_t seed) const;
  /// Returns the number of samples that T more frames yield in a stream that has already received
  /// `before` frames.
  int64_t samples(int64_t before, int64_t t, bool last) const;
  void run(StepContext& ctx, std::span<const DacDecoderJob> jobs) const;

  /// Moves the weights to a GPU. Streams opened afterwards, and the views of jobs, must then be on
  /// the GPU.
  void move_to(Device device);
  size_t bytes() const;

  /// Writes normal numbers: rows [begin, begin + count) of the noise of block `block` of a stream.
  static void noise(uint64_t seed, int block, int64_t begin, std::span<float> out);

 private:
  struct Snake {
    Tensor alpha, inv_alpha;  // [C]
  };
  struct ResidualUnit {
    Snake act1, act2;
    CausalConv1d conv;  // 7 taps, dilated
    PackedLinear mix;   // 1 tap
  };
  struct Block {
    Snake act;
    CausalConvTranspose1d up;
    PackedLinear noise;  // empty if the block adds no noise
    std::vector<ResidualUnit> units;
  };
  /// Some frames of one stream, to be decoded in one pass.
  struct Part {
    DacDecoderState* state = nullptr;
    View latent;
    float* out = nullptr;
    bool last = false;
  };
  /// Rows of all parts of a pass, one part after another.
  struct Stack {
    View x;                   // [sum of rows, channels]
    std::span<int64_t> rows;  // number of rows of each part
  };

  Snake load_snake(const Weights& weights, int64_t channels) const;
  CausalConv1d load_conv(const Weights& weights, int64_t in, int64_t out, int64_t dilation,
                         bool depthwise) const;

  /// Applies a snake to x. `out` may be the memory of x.
  static void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
  /// Writes the oldest rows of each part to `out`: first the rows that its state keeps in
  /// delays_[delay], then rows of `in`. Keeps the remaining rows in delays_[delay].
  static void delay_rows(StepContext& ctx, std::span<const Part> parts, size_t delay,
                         const Stack& in, const Stack& out);
  /// Decodes the parts. Writes to samples [parts] how many samples each part yields.
  void run_pass(StepContext& ctx, std::span<Part> parts, std::span<int64_t> samples) const;
  /// Runs `layer`, whose state is number `conv` in each stream, on the rows of all parts.
  template <typename Conv>
  Stack convolve(StepContext& ctx, std::span<const Part> parts, const Conv& layer, const Stack& in,
                 size_t& conv) const;
  void add_noise(StepContext& ctx, std::span<const Part> parts, const PackedLinear& gain,
                 size_t block, const Stack& x) const;
  Stack run_unit(StepContext& ctx, std::span<const Part> parts, const ResidualUnit& unit,
                 const Stack& in, size_t& conv, size_t& delay) const;

  DacDecoderConfig config_;
  WeightType type_;
  CausalConv1d head_, tail_;
  PackedLinear spread_;  // the linear after SNAC's depthwise first convolution
  std::vector<Block> blocks_;
  Snake tail_act_;
};

}  // namespace syrinx
