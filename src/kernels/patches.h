// What encoders of recordings need beside products: the windows of 2-D convolutions, and means of
// rows. All numbers are f32. Results do not depend on other rows or on threads.
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// Returns the number of outputs of a convolution of three taps and stride 2, with one zero before
/// and one after `inputs` inputs.
constexpr int64_t halved(int64_t inputs) { return (inputs + 1) / 2; }

/// Gathers the windows of a 3 x 3 convolution of stride 2 that is padded with zeros, so that the
/// convolution is a product. Plane n of `planes` [N, T, B, C] has the outputs (t, b) with t below
/// halved(T) and b below halved(B). They are counted in the order (n, t, b). Writes the windows of
/// outputs [first, first + R) to out [R, 9 * C]; column (3 * i + j) * C + c is the input (n, 2 t +
/// i - 1, 2 b + j - 1, c).
void gather_patches(StepContext& ctx, const View& planes, int64_t first, const View& out);

/// Computes a depthwise 3 x 3 convolution of stride 2. Along bands, `lead` zeros come before the
/// first band, and one after the last. Along time, only whole windows are computed. x [T, B, C], or
/// [T, B, 1] with one input for all channels; taps [9, C], time before band; bias [C]; out [R, B',
/// C] with R at most (T - 1) / 2 and B' = (B + lead) / 2. Products are added to the bias in the
/// order of the taps.
void depthwise_patches(StepContext& ctx, const View& x, const View& taps, const View& bias,
                       int64_t lead, const View& out);

/// Copies x [N, B, C] to out [N, C * B], channels before bands.
void channels_first(StepContext& ctx, const View& x, const View& out);

/// Computes x *= y, number by number.
void multiply(StepContext& ctx, const View& x, const View& y);

/// Computes the mean of each P consecutive rows, added in their order. x [N * P, W], out [N, W].
void mean_rows(StepContext& ctx, const View& x, const View& out);

}  // namespace syrinx
