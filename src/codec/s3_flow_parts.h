// What the flow's encoder and estimator share.
#pragma once

#include "kernels/linear.h"
#include "nn/stream_pass.h"

namespace syrinx {

constexpr float kFlowNormEps = 1e-5f;  ///< torch's default of nn.LayerNorm

/// 8 bits are for linears: convolutions then have bf16.
constexpr WeightType flow_conv_type(WeightType type) {
  return is_quantized(type) ? WeightType::kBF16 : type;
}

}  // namespace syrinx
