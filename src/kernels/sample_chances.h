// For tests: the probabilities of the ids in a draw, without drawing.
#pragma once

#include <span>
#include <vector>

#include "kernels/sample.h"

namespace syrinx {

/// Returns the probability of each id when sample() draws this row on the CPU, with the row's
/// filters. Random numbers are not used. All 0 if the row cannot be sampled.
std::vector<double> sample_chances(std::span<const float> logits, const SampleRow& row);

}  // namespace syrinx
