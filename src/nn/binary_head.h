// A head of a code that is 0 or 1, such as "the end has come". Free function; any thread.
#pragma once

#include <string>

#include "nn/layers.h"

namespace syrinx {

/// Loads the linear `name`, H -> 1 with a bias, as a head H -> 2: its output is the logit of code
/// 1, that of code 0 is `zero`.
PackedLinear load_binary_head(const Weights& weights, const std::string& name, int64_t hidden,
                              float zero, WeightType type);

}  // namespace syrinx
