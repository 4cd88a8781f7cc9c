// The types of cached keys and values for each type of weights.
#pragma once

#include "kernels/packed_matrix.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Returns f32 for f32 weights, 8 bits for 4-bit weights, and f16 for all others. With 4-bit
/// weights, an 8-bit cache causes no measurable further loss.
constexpr DType cache_type(WeightType type) {
  if (type == WeightType::kF32) return DType::kF32;
  return type == WeightType::kQ4 || type == WeightType::kMixed ? DType::kI8 : DType::kF16;
}

/// Returns the type for caches of a few positions. 8 bits would not make such caches faster.
constexpr DType short_cache_type(WeightType type) { return cache_type(at_least_8_bits(type)); }

}  // namespace syrinx
