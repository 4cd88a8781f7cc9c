// The types of cached keys and values that go with a type of weights.
#pragma once

#include "kernels/packed_matrix.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Returns f32 for f32 weights and 8 bits for weights of 4 bits, else f16. The additional
/// loss of 8 bits cannot be measured beside that of 4-bit weights (docs/measurements.md).
constexpr DType cache_type(WeightType type) {
  if (type == WeightType::kF32) return DType::kF32;
  return type == WeightType::kQ4 || type == WeightType::kMixed ? DType::kI8 : DType::kF16;
}

/// Returns the type for caches of a few positions, which 8 bits would not make faster.
constexpr DType short_cache_type(WeightType type) { return cache_type(at_least_8_bits(type)); }

}  // namespace syrinx
