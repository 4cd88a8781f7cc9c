// How keys and values are kept beside weights of a type.
#pragma once

#include "kernels/packed_matrix.h"
#include "tensor/tensor.h"

namespace syrinx {

/// f32 for f32; 8 bits where weights have 4, which lose so much more that nothing of it can be
/// measured (docs/measurements.md); f16 otherwise.
constexpr DType cache_type(WeightType type) {
  if (type == WeightType::kF32) return DType::kF32;
  return type == WeightType::kQ4 || type == WeightType::kMixed ? DType::kI8 : DType::kF16;
}

/// The same for caches of a few positions, which 8 bits would not make faster.
constexpr DType short_cache_type(WeightType type) { return cache_type(at_least_8_bits(type)); }

}  // namespace syrinx
