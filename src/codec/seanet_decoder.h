// The decoder of a SEANet codec as ESPnet trains it: not causal, convolutions mirrored at both ends
// of a stream, an LSTM over the frames, one snake parameter a layer, residual units beside a
// linear. Latent frames come in, samples go out as soon as they are certain; every frame runs once.
// However a stream is cut, its samples are the same bits as those of the whole. Runs on the CPU.
// Const after construction, shared by threads; a stream is used by one call at a time.
// Network: espnet:espnet2/gan_codec/shared/{decoder,encoder}/seanet.py. T frames, D latent width.
#pragma once

#include <vector>

#include "io/weights.h"
#include "nn/conv.h"
#include "nn/lstm.h"
#include "nn/row_queue.h"

namespace syrinx {

/// A convolution of an odd window W = 2 P + 1 that sees P rows on either side of its own, mirrored
/// where the stream has none: T rows give T rows, P rows late.
class MirroredConv1d {
 public:
  class State {
    friend class MirroredConv1d;
    ConvState conv;
    std::vector<float> early;  // rows before there are P + 1
    bool begun = false;
  };

  MirroredConv1d() = default;
  /// weight [O, C, K], bias [O].
  MirroredConv1d(const View& weight, const View& bias, int64_t dilation, WeightType type);

  State open() const;
  /// x [T, C]; `last`: nothing follows. The rows that became certain, in the arena. A stream
  /// shorter than P + 1 rows is mirrored as if zeros followed, as the authors' code does.
  View run(StepContext& ctx, const View& x, bool last, State& state) const;

  int64_t ahead() const { return ahead_; }
  int64_t out() const { return conv_.out(); }
  size_t bytes() const { return conv_.bytes(); }

 private:
  View padded(StepContext& ctx, const View& x, bool last, State& state) const;
  CausalConv1d conv_;
  int64_t ahead_ = 0;
};

/// Sizes, as the tensors tell them.
struct SeanetConfig {
  int64_t latent = 512;  ///< D
  int64_t width = 512;   ///< after the first convolution; halved by every ratio
  std::vector<int64_t> ratios{8, 5, 4, 2};
  int64_t units = 3;  ///< residual ones after each ratio, of dilation 1, 2, 4, ...
  int64_t lstm = 2;   ///< layers
  int64_t taps = 7;   ///< of all convolutions but those of one tap
  int64_t inner = 2;  ///< how many times narrower a residual unit is inside

  /// Of the scope that has model.0, model.1, ...; what no tensor tells stays as it is here.
  static SeanetConfig of(const Weights& weights);
  /// Samples a frame.
  int64_t hop() const;
  /// Samples by which a stream's output lags behind its input before it ends.
  int64_t delay() const;
};

class SeanetDecoder {
 public:
  class Stream {
    friend class SeanetDecoder;
    std::vector<MirroredConv1d::State> convs;
    std::vector<ConvState> ups;
    std::vector<LstmState> lstm;
    std::vector<RowQueue> beside;  // of the units
  };

  SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type);

  const SeanetConfig& config() const { return config_; }
  Stream open() const;
  /// latent [T, D]; the samples [N] that became certain, in the arena.
  View run(StepContext& ctx, const View& latent, bool last, Stream& stream) const;
  size_t bytes() const;

 private:
  struct Snake {
    Tensor alpha, inverse;  // [C], all the same
  };
  struct Unit {
    Snake before, inside;
    MirroredConv1d conv;
    PackedLinear mix, beside;
  };
  struct Block {
    Snake act;
    CausalConvTranspose1d up;
    std::vector<Unit> units;
  };
  static Snake load_snake(const Weights& scope, int64_t channels);
  MirroredConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t dilation) const;
  PackedLinear load_pointwise(const Weights& scope, int64_t in, int64_t out) const;

  SeanetConfig config_;
  WeightType type_;
  MirroredConv1d head_, tail_;
  std::vector<Lstm> lstm_;
  std::vector<Block> blocks_;
  Snake tail_act_;
};

}  // namespace syrinx
