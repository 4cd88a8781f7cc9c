// Normalisation of rows. A row's result does not depend on other rows or on threads. Legend: N
// rows, H width; all numbers are f32. `out` may be the memory of `x`.
#pragma once

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// Computes out = x / sqrt(mean(x^2) + eps) * weight. x, out [N, H]; weight [H].
void rms_norm(StepContext& ctx, const View& x, const View& weight, float eps, const View& out);

/// Computes x += delta, then out = rms_norm(x). Changes the residual stream `x` in place.
void add_rms_norm(StepContext& ctx, const View& x, const View& delta, const View& weight, float eps,
                  const View& out);

/// Computes out = (x - mean) / sqrt(var + eps) * weight + bias, with the biased variance. weight
/// and bias [H]; an empty weight means 1, an empty bias means 0.
void layer_norm(StepContext& ctx, const View& x, const View& weight, const View& bias, float eps,
                const View& out);

/// Computes rms_norm of each head separately, in place; the heads share weight [dim] (qk-norm).
void rms_norm_heads(StepContext& ctx, const HeadsView& x, const View& weight, float eps);

}  // namespace syrinx
