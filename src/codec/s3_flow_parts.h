// What the flow's encoder and estimator share.
#pragma once

#include "kernels/linear.h"
#include "tensor/context.h"

namespace syrinx {

constexpr float kFlowNormEps = 1e-5f;  ///< torch's default of nn.LayerNorm

/// 8 bits are for linears: convolutions then have bf16.
constexpr WeightType flow_conv_type(WeightType type) {
  return is_8_bit(type) ? WeightType::kBF16 : type;
}

/// [rows, width] f32 of scratch.
inline View take_rows(StepContext& ctx, int64_t rows, int64_t width) {
  return ctx.arena.take({rows, width}, DType::kF32);
}

}  // namespace syrinx
