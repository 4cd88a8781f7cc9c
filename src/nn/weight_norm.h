// Weights that a checkpoint keeps in torch's weight norm, w = v * g / |v| with the norm of every
// output of its own (of every input of a transposed convolution, or of every tap), folded into
// plain ones at load.
#pragma once

#include <string>

#include "io/weights.h"

namespace syrinx {

/// The tensor `name` of the scope in f32: as it is, or folded from <name>_g and <name>_v, or from
/// parametrizations.<name>.original0 and original1 (torch:torch/nn/utils/parametrizations.py). A
/// tensor in none of these forms is reported under its plain name. `axis`: torch's `dim`, along
/// which the norms are.
Tensor folded_weight(const Weights& weights, const Shape& shape, const std::string& name = "weight",
                     int axis = 0);

}  // namespace syrinx
