// The convolutional decoder of DAC and SNAC: latent frames to samples, through blocks of snake,
// transposed convolution and dilated residual units. The decoder is not causal: every convolution
// is padded on both sides, so a sample depends on the input up to delay() samples later. In a
// stream each layer keeps the input that it still needs. Nothing is computed twice. A stream has
// the same bits however it is cut into chunks. Its samples do not depend on the other streams of a
// call. Const after construction, shared by threads; a state is used by one call at a time.
// Networks: descript-audio-codec:dac/model/dac.py, snac:snac/layers.py. T frames, D latent width;
// activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/conv.h"

namespace syrinx {

/// How the tensors below the decoder's scope are named.
enum class DacNames {
  kSequential,  ///< model.0, model.1.block.0.alpha, ...: the authors of DAC and SNAC
  kNamed        ///< conv1, block.0.snake1.alpha, ...: DacModel of transformers
};

/// Sizes. Plain data.
struct DacDecoderConfig {
  int64_t latent = 1024;    ///< D
  int64_t channels = 1536;  ///< channels after the first convolution; halved by every block
  std::vector<int64_t> rates{8, 8, 4, 2};
  bool depthwise = false;  ///< SNAC: the first and the dilated convolutions are depthwise
  bool noise = false;      ///< SNAC: every block adds noise, scaled by a linear of its input
  bool bounded = true;     ///< the output passes through tanh (not in X-Codec)
  DacNames names = DacNames::kSequential;

  /// Returns the samples of a frame.
  int64_t hop() const;
  /// Returns the samples by which a stream's output lags behind its input until the stream ends.
  int64_t delay() const;
  /// Returns the frames that must follow a chunk before all of its samples are certain.
  int64_t lookahead() const { return (delay() + hop() - 1) / hop(); }
};

/// State of one stream between calls.
class DacDecoderState {
 private:
  friend class DacDecoder;
  std::vector<ConvState> convs_, delays_;  // states in the order of the network
  std::vector<int64_t> noise_at_;          // next row of noise of each block
  uint64_t seed_ = 0;
};

/// Input and output of one stream in a call.
struct DacDecoderJob {
  DacDecoderState* state = nullptr;
  View latent;  ///< [T, D]
  View out;     ///< [samples(before, T, last)] f32, in [-1, 1] if the decoder is bounded
  bool last = false;
};

/// The decoder with its weights.
class DacDecoder {
 public:
  DacDecoder(const DacDecoderConfig& config, const Weights& weights, WeightType type);

  const DacDecoderConfig& config() const { return config_; }
  /// `seed` determines the noise: sample t of block b is the same however the stream is cut.
  DacDecoderState open(uint64_t seed) const;
  /// Returns the number of samples that T more frames yield in a stream that has had `before`
  /// frames.
  int64_t samples(int64_t before, int64_t t, bool last) const;
  void run(StepContext& ctx, std::span<const DacDecoderJob> jobs) const;

  /// Moves the weights to a GPU; streams opened afterwards and the views of jobs must then live
  /// there.
  void move_to(Device device);
  size_t bytes() const;
  size_t state_bytes() const;

  /// Writes the normal numbers of rows [begin, begin + count) of block `block` for one stream.
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
    PackedLinear noise;  // empty: the block adds no noise
    std::vector<ResidualUnit> units;
  };
  /// Some frames of one stream, as part of a pass.
  struct Part {
    DacDecoderState* state = nullptr;
    View latent;
    float* out = nullptr;
    bool last = false;
  };
  /// Rows of all parts of a pass, concatenated.
  struct Stack {
    View x;                   // [sum of rows, channels]
    std::span<int64_t> rows;  // number of rows of each part
  };

  Snake load_snake(const Weights& weights, int64_t channels) const;
  CausalConv1d load_conv(const Weights& weights, int64_t in, int64_t out, int64_t dilation,
                         bool depthwise) const;

  /// Applies a snake to x; `out` may be x.
  static void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
  /// Writes to `out` the oldest rows of each part, first those held by its delay number `delay`,
  /// then those of `in`; holds the remaining rows.
  static void delay_rows(StepContext& ctx, std::span<const Part> parts, size_t delay,
                         const Stack& in, const Stack& out);
  /// Decodes the parts; writes to samples [parts] how many samples each part yields.
  void run_pass(StepContext& ctx, std::span<Part> parts, std::span<int64_t> samples) const;
  /// Runs `layer`, convolution number `conv` of the states, on the rows of all parts.
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
  PackedLinear spread_;  // SNAC: after its depthwise first convolution
  std::vector<Block> blocks_;
  Snake tail_act_;
};

}  // namespace syrinx
