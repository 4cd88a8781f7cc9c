// Sums of each channel over all rows of a matrix, and functions that use such sums. The result of a
// channel does not depend on other channels or on threads. CPU only. Legend: x [T, C] f32, T rows,
// C channels.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// Computes the mean and the biased variance [C] of every channel over all rows; T >= 1.
/// Differences from the first row are summed in f32 within stretches of a fixed number of rows. The
/// sums of stretches are added in double.
void channel_moments(StepContext& ctx, const View& x, std::span<double> mean,
                     std::span<double> variance);

/// Computes out = x * factor + summand. factor, summand [C]; out [T, C] may be the memory of x.
void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& out);

/// Computes out = snake(x * factor + summand) with alpha and inv_beta [C] (activation.h). out [T,
/// C] may be the memory of x.
void scale_channels_snake(StepContext& ctx, const View& x, const View& factor, const View& summand,
                          const View& alpha, const View& inv_beta, const View& out);

}  // namespace syrinx
