// The types that WeightType::kMixed means in a decoder's blocks. In the built-in voice, 4 bits lose
// most accuracy per saved byte in the last linear of the MLP, and least in q, k and v
// (docs/measurements.md). Therefore `down` is kept in 8 bits and the others in 4.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// Returns the type of all linears of a block except `down`, which uses `type` unchanged.
constexpr WeightType all_but_down(WeightType type) {
  return type == WeightType::kMixed ? WeightType::kQ4 : type;
}

}  // namespace syrinx
