// Layers that causal codecs of the DAC kind (Fish Audio's codec, VoxCPM's AudioVAE) share: snakes,
// convolutions with weight norm, residual units. Only for codec/*.cc.
#pragma once

#include "io/weights.h"
#include "nn/conv.h"
#include "nn/layers.h"
#include "nn/stream_pass.h"
#include "nn/weight_norm.h"

namespace syrinx::causal {

constexpr int64_t kTaps = 7;
constexpr int64_t kDilations[] = {1, 3, 9};

/// The function x + sin(alpha x)^2 / alpha, with one alpha per channel.
struct Snake {
  Tensor alpha, inv_alpha;  // [C]

  void move_to(Device device);
};

/// Adds to x the output of four layers: snake, dilated convolution, snake, convolution of one tap.
struct ResidualUnit {
  Snake act1, act2;
  CausalConv1d conv;
  PackedLinear mix;
};

/// Options in which the residual units of the codecs differ.
struct UnitOptions {
  int64_t dilation = 1;
  bool depthwise = false;  ///< whether the dilated convolution is depthwise
  const char* conv = "";   ///< sub-scope that contains the tensors of a convolution
  WeightType type = WeightType::kF32;
};

/// Loads a snake of `channels` channels. Throws LoadError for missing or misshapen tensors.
Snake load_snake(const Weights& scope, int64_t channels);
/// Applies a snake to x. `out` may be the memory of x.
void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
/// Loads a convolution from "weight" and "bias" of the scope.
CausalConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options);
/// Loads a transposed convolution of 2 * stride taps.
CausalConvTranspose1d load_up(const Weights& scope, int64_t in, int64_t out, int64_t stride,
                              WeightType type);
/// Loads a residual unit from "block.0" to "block.3" of the scope.
ResidualUnit load_unit(const Weights& scope, int64_t channels, const UnitOptions& options);
/// Loads a convolution of one tap as a linear.
PackedLinear load_pointwise(const Weights& scope, int64_t in, int64_t out, WeightType type);

/// Runs one stream's rows through a convolution.
View convolve(StepContext& ctx, const CausalConv1d& conv, ConvState& state, const View& x);

/// Adds the unit's output to x. run(conv, x) returns the rows that the convolution `conv` yields.
template <typename Run>
void add_unit(StepContext& ctx, const ResidualUnit& unit, const View& x, Run&& run) {
  const Arena::Mark mark(ctx.arena);
  const View first = take_rows(ctx, x.shape[0], x.shape[1]);
  snake(ctx, x, unit.act1, first);
  const View inner = run(unit.conv, first);
  snake(ctx, inner, unit.act2, inner);
  linear_add(ctx, unit.mix, inner, x);
}

/// A block of a decoder: a snake, a transposed convolution that halves the channels, and units.
struct Raise {
  Snake act;
  CausalConvTranspose1d up;
  std::vector<ResidualUnit> units;

  /// Appends the states of a stream's convolutions.
  void open(std::vector<ConvState>& states) const;
  /// Runs the block on x and returns its output. Overwrites x.
  View run(StepContext& ctx, StreamPass& pass, const View& x) const;
  void move_to(Device device);
  size_t bytes() const;
};
/// Loads a block from "0" to "4" of the scope; its units have the dilations kDilations.
Raise load_raise(const Weights& scope, int64_t channels, int64_t stride, UnitOptions options);

}  // namespace syrinx::causal
