// Sums of each channel over all rows of a matrix, and functions that use such sums. The result of a
// channel does not depend on other channels or on threads. Legend: x [T, C] f32, T rows, C
// channels.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// Computes the mean and the biased variance [C] of every channel over all rows; T >= 1.
/// Differences from the first row are summed in f32 within stretches of a fixed number of rows. The
/// sums of stretches are added in double. CPU only.
void channel_moments(StepContext& ctx, const View& x, std::span<double> mean,
                     std::span<double> variance);

/// Computes the factors and summands [C] that normalise every channel over all rows, then apply
/// `gain` and `shift` [C]: factor = gain / sqrt(variance + eps), summand = shift - mean * factor. A
/// GPU adds in double; the order depends only on T.
void normalising_scale(StepContext& ctx, const View& x, const View& gain, const View& shift,
                       float eps, const View& factor, const View& summand);

/// Normalises groups of C / groups channels over all rows in place, then applies `weight` and
/// `bias` [C]: x = (x - mean) / sqrt(variance + eps) * weight + bias. Sums are double.
void group_norm(StepContext& ctx, const View& x, const View& weight, const View& bias,
                int64_t groups, float eps);

/// Computes out = x * factor + summand. factor, summand [C]; out [T, C] may be the memory of x.
void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& out);

/// Computes out = snake(x * factor + summand) with alpha and inv_beta [C] (activation.h). out [T,
/// C] may be the memory of x.
void scale_channels_snake(StepContext& ctx, const View& x, const View& factor, const View& summand,
                          const View& alpha, const View& inv_beta, const View& out);

}  // namespace syrinx
