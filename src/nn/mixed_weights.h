// What WeightType::kMixed is in a decoder's blocks. Among the linears of the built-in voice, those
// that end the MLP lose most by 4 bits for what they save, queries, keys and values least
// (docs/measurements.md): so `down` is kept in 8 bits and the others in 4.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// For all linears of a block but `down`, which takes the type as it is.
constexpr WeightType all_but_down(WeightType type) {
  return type == WeightType::kMixed ? WeightType::kQ4 : type;
}

}  // namespace syrinx
