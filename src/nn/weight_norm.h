// Weights that a checkpoint stores in torch's weight norm, w = v * g / |v|, folded into plain
// weights at load. The norm is over each output (for a transposed convolution, over each input; or
// over each tap).
#pragma once

#include <string>

#include "io/weights.h"

namespace syrinx {

/// Takes the tensor `name` of the scope in f32: a plain tensor, or folded from <name>_g and
/// <name>_v, or from parametrizations.<name>.original0 and original1
/// (torch:torch/nn/utils/parametrizations.py). A tensor in none of these forms is reported under
/// its plain name. `axis`: torch's `dim`, with one norm per index.
Tensor folded_weight(const Weights& weights, const Shape& shape, const std::string& name = "weight",
                     int axis = 0);

}  // namespace syrinx
