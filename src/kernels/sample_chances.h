// For tests: what a draw may yield, without drawing.
#pragma once

#include <span>
#include <vector>

#include "kernels/sample.h"

namespace syrinx {

/// The chance of each id in the draw that sample() makes of this row on the CPU, from the same
/// filters; its random numbers have no say. All 0 where the row cannot be sampled.
std::vector<double> sample_chances(std::span<const float> logits, const SampleRow& row);

}  // namespace syrinx
