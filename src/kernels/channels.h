// Channels over time: sums over all rows of a matrix, and the functions that they feed. A channel's
// result depends neither on the other channels nor on the threads. On the CPU only.
// Legend: x [T, C] f32, T rows, C channels.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// mean and biased variance [C] of every channel over all rows; T >= 1. Rows are summed in f32 in
/// stretches of constant length, around the first row, and stretches in double.
void channel_moments(StepContext& ctx, const View& x, std::span<double> mean,
                     std::span<double> variance);

/// out = x * factor + summand. factor and summand [C]; out [T, C] may be x.
void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& out);

/// out = snake(x * factor + summand) with alpha and inv_beta [C] (activation.h). out [T, C] may be
/// x.
void scale_channels_snake(StepContext& ctx, const View& x, const View& factor, const View& summand,
                          const View& alpha, const View& inv_beta, const View& out);

}  // namespace syrinx
