// What the encoder and the decoder of Fish Audio's codec build from the same names. For
// codec/fish_*.cc.
#pragma once

#include "io/weights.h"
#include "nn/conv.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx::fish {

constexpr int64_t kTaps = 7;
constexpr int64_t kDilations[] = {1, 3, 9};

struct Snake {
  Tensor alpha, inv_alpha;  // [C]
};

/// Snake, dilated convolution, snake, convolution of one tap, beside what comes in.
struct ResidualUnit {
  Snake act1, act2;
  CausalConv1d conv;
  PackedLinear mix;
};

/// Convolutions have no form of 8 or 4 bits.
inline WeightType conv_type(WeightType type) {
  return is_quantized(type) ? WeightType::kBF16 : type;
}

Snake load_snake(const Weights& scope, int64_t channels);
/// out may be x.
void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
/// "conv." of the scope.
CausalConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options);
ResidualUnit load_unit(const Weights& scope, int64_t channels, int64_t dilation, WeightType type);
/// A convolution of one tap, "weight" and "bias" of the scope, as a linear.
PackedLinear load_pointwise(const Weights& scope, int64_t in, int64_t out, WeightType type);

}  // namespace syrinx::fish
