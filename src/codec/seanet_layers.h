// The layers that both halves of a SEANet codec of ESPnet's are made of: sizes, snakes with one
// parameter, residual units beside a linear. Free functions and values; const after load.
// Network: espnet:espnet2/gan_codec/shared/encoder/seanet.py. T rows, C channels.
#pragma once

#include <vector>

#include "codec/mirrored_conv.h"
#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/lstm.h"
#include "nn/row_queue.h"

namespace syrinx {

/// Sizes of the decoder, from its tensors; the encoder has the same, mirrored.
struct SeanetConfig {
  int64_t latent = 512;  ///< D
  int64_t width = 512;   ///< after the first convolution; halved by every ratio
  std::vector<int64_t> ratios{8, 5, 4, 2};
  int64_t units = 3;  ///< residual ones after each ratio, of dilation 1, 2, 4, ...
  int64_t lstm = 2;   ///< layers
  int64_t taps = 7;   ///< of all convolutions but those of one tap
  int64_t inner = 2;  ///< how many times narrower a residual unit is inside

  /// Reads sizes from the scope that has model.0, model.1, ...; what no tensor determines stays as
  /// it is here.
  static SeanetConfig of(const Weights& weights);
  /// Samples a frame.
  int64_t hop() const;
  /// Samples by which a stream's output lags behind its input before it ends.
  int64_t delay() const;
};

namespace seanet {

/// Where a convolution keeps its tensors.
inline Weights conv_scope(const Weights& layer) { return layer.scope("conv").scope("conv"); }

/// One alpha for all channels.
struct Snake {
  Tensor alpha, inverse;  // [C], all the same
};
/// Loads a snake of `channels` channels. Throws LoadError.
Snake load_snake(const Weights& layer, int64_t channels);
/// x [T, C], in place.
void apply(StepContext& ctx, const Snake& snake, const View& x);

/// Loads a convolution of the given sizes. Throws LoadError.
MirroredConv1d load_conv(const Weights& layer, int64_t in, int64_t out, int64_t taps,
                         const MirroredOptions& options);

/// Snake, dilated convolution, snake and mix, beside a mix of what comes in.
struct Unit {
  Snake before, inside;
  MirroredConv1d conv;
  PackedLinear mix, beside;
};
/// The `number`th unit at a width.
Unit load_unit(const Weights& layer, const SeanetConfig& config, int64_t channels, int64_t number,
               WeightType type);
/// x [T, C] -> the rows that became certain, in the arena; x is changed. `waiting`: rows of C.
View run(StepContext& ctx, const Unit& unit, const View& x, bool last, MirroredConv1d::State& conv,
         RowQueue& waiting);

/// x += what the layers make of it, one after another. `states`: one of each.
void add_lstm(StepContext& ctx, const std::vector<Lstm>& layers, const View& x,
              std::vector<LstmState>& states);

/// Bytes of the unit's weights.
size_t bytes(const Unit& unit);

}  // namespace seanet
}  // namespace syrinx
