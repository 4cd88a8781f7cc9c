// Layers and sizes that the encoder and the decoder of ESPnet's SEANet codecs share: snakes with
// one parameter, residual units with a linear shortcut, and passes of many streams through them.
// Values, const after loading. Network: espnet:espnet2/gan_codec/shared/encoder/seanet.py. T rows,
// C channels.
#pragma once

#include <vector>

#include "codec/mirrored_conv.h"
#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/lstm.h"
#include "nn/row_queue.h"
#include "nn/row_stack.h"

namespace syrinx {

/// Sizes of the decoder, from its tensors. The encoder has the layers in reverse order.
struct SeanetConfig {
  int64_t latent = 512;  ///< D: width of a latent frame
  int64_t width = 512;   ///< channels after the first convolution; every ratio halves them
  std::vector<int64_t> ratios{8, 5, 4, 2};
  int64_t units = 3;  ///< residual units after each ratio; their dilations are 1, 2, 4, ...
  int64_t lstm = 2;   ///< number of LSTM layers
  int64_t taps = 7;   ///< taps of the convolutions that have more than one tap
  int64_t inner = 2;  ///< factor by which a residual unit is narrower inside

  /// Reads sizes from the scope that has model.0, model.1, ... A size that no tensor determines
  /// keeps its default.
  static SeanetConfig of(const Weights& weights);
  /// Returns the number of samples in a frame.
  int64_t hop() const;
  /// Returns by how many samples the output lags behind the input until the stream ends.
  int64_t delay() const;
};

namespace seanet {

/// Returns the scope of a convolution's tensors.
inline Weights conv_scope(const Weights& layer) { return layer.scope("conv").scope("conv"); }

/// A snake with one alpha for all channels.
struct Snake {
  Tensor alpha, inverse;  // [C]; all C numbers are equal
};
/// Loads a snake of `channels` channels. Throws LoadError for missing or misshapen tensors.
Snake load_snake(const Weights& layer, int64_t channels);
/// Loads a convolution of the given sizes. Throws LoadError for missing or misshapen tensors.
MirroredConv1d load_conv(const Weights& layer, int64_t in, int64_t out, int64_t taps,
                         const MirroredOptions& options);

/// A residual unit: adds the output of snake, dilated convolution, snake and mix to a linear of x.
struct Unit {
  Snake before, inside;
  MirroredConv1d conv;
  PackedLinear mix, beside;
};
/// Loads residual unit number `number` with `channels` channels.
Unit load_unit(const Weights& layer, const SeanetConfig& config, int64_t channels, int64_t number,
               WeightType type);
/// Returns the size of the unit's weights in bytes.
size_t bytes(const Unit& unit);
/// Move the weights to a GPU. Streams opened afterwards must be on the GPU, too.
void move_to(Device device, Snake& snake);
void move_to(Device device, Unit& unit);

/// What the layers of one stream keep between calls, in the order of the network.
struct Stream {
  std::vector<MirroredConv1d::State> convs;
  std::vector<ConvState> ups;
  std::vector<LstmState> lstm;
  std::vector<RowQueue> beside;  // delayed input of each residual unit

  /// Adds the states of a unit with `channels` channels.
  void add(const Unit& unit, int64_t channels);
};

/// One stream in a pass.
struct Part {
  Stream* stream = nullptr;
  bool last = false;  ///< no rows follow
};

/// A pass of several streams through the layers of a network, in order. A layer returns the rows
/// that are now final, in the arena.
class Pass {
 public:
  Pass(StepContext& ctx, std::span<const Part> parts) : ctx_(ctx), parts_(parts) {}

  /// Applies a snake to x in place.
  void run(const Snake& snake, const RowStack& x) const;
  /// Runs a convolution.
  RowStack run(const MirroredConv1d& conv, const RowStack& x);
  /// Runs an upsampling.
  RowStack run(const CausalConvTranspose1d& up, const RowStack& x);
  /// Runs a residual unit.
  RowStack run(const Unit& unit, const RowStack& x);
  /// Runs all LSTM layers one after another and adds their output to x.
  void add_lstm(const std::vector<Lstm>& layers, const RowStack& x) const;

 private:
  StepContext& ctx_;
  std::span<const Part> parts_;
  size_t conv_ = 0, up_ = 0, unit_ = 0;  // numbers of the next layers
};

}  // namespace seanet
}  // namespace syrinx
