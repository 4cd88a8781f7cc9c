// Rounding of numbers to levels (finite scalar quantization).
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// Rounds x to multiples of 1 / steps, in place. Between two multiples the even one is nearest.
void round_to_steps(StepContext& ctx, const View& x, float steps);

/// Writes logits that permit one code a row: `first` + the nearest to x[i, column] of the V - first
/// levels, which are spread evenly from -1 to 1. Its logit is 0, all others are -inf. Between two
/// levels the even one is nearest. Numbers beyond the levels count as the last level. For a NaN the
/// logit of `first` is NaN, which the sampler reports. x f32 [N, K]; out f32 [N, V], V > first + 1.
void level_logits(StepContext& ctx, const View& x, int64_t column, int64_t first, const View& out);

}  // namespace syrinx
