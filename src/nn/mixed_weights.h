// The types that WeightType::kMixed stands for in a decoder's blocks. In the built-in voice, 4 bits
// cost the most accuracy for the bytes saved in the linear that ends the MLP, and the least in
// queries, keys and values (docs/measurements.md): so `down` is kept in 8 bits and the others in 4.
#pragma once

#include "kernels/packed_matrix.h"

namespace syrinx {

/// The type of all linears of a block but `down`, which takes `type` unchanged.
constexpr WeightType all_but_down(WeightType type) {
  return type == WeightType::kMixed ? WeightType::kQ4 : type;
}

}  // namespace syrinx
