// Weights that a checkpoint stores in torch's weight norm, w = v * g / |v|. They are converted to
// plain weights at load. The norm covers each output (or each input, as for transposed
// convolutions, or each tap).
#pragma once

#include <string>

#include "io/weights.h"

namespace syrinx {

/// Loads the tensor `name` of the scope in f32: a plain tensor, or computed from <name>_g and
/// <name>_v, or from parametrizations.<name>.original0 and original1
/// (torch:torch/nn/utils/parametrizations.py). If none of these exists, the error has the plain
/// name. `axis`: torch's `dim`; each index has its own norm.
Tensor folded_weight(const Weights& weights, const Shape& shape, const std::string& name = "weight",
                     int axis = 0);

}  // namespace syrinx
