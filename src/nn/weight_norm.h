// Weights that a checkpoint keeps as direction and length (torch's weight_norm), folded at load.
#pragma once

#include "io/weights.h"

namespace syrinx {

/// The f32 weight of the scope, of shape [first, ...]: "weight" as it is, or g v / |v| from
/// "weight_g" and "weight_v", or from "parametrizations.weight.original0" (g) and "original1" (v).
/// |v| runs over all sizes but the first, as with weight_norm's dim = 0.
Tensor take_weight_normed(const Weights& weights, const Shape& shape);

}  // namespace syrinx
