// For tests: the probabilities of a draw, without drawing.
#pragma once

#include <span>
#include <vector>

#include "kernels/sample.h"

namespace syrinx {

/// Returns the probability of each id in the draw that sample() makes of this row on the CPU, with
/// the same filters. Random numbers are not used. All 0 if the row cannot be sampled.
std::vector<double> sample_chances(std::span<const float> logits, const SampleRow& row);

}  // namespace syrinx
