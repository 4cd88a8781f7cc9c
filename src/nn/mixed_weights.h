// The types that WeightType::kMixed means in the blocks of a decoder. In the built-in voice, 4 bits
// lose most accuracy per saved byte in the last linear of the MLP, and least in q, k and v. So
// `down` has 8 bits, and the other linears have 4 (docs/measurements.md).
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// Returns the type of all linears of a block except `down`. The type of `down` is `type`.
constexpr WeightType all_but_down(WeightType type) {
  return type == WeightType::kMixed ? WeightType::kQ4 : type;
}

}  // namespace syrinx
