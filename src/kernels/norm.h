// Normalisation of rows. One row's result never depends on another row nor on the threads.
// Legend: N rows, H width; everything f32. `out` may be the same memory as `x`.
#pragma once

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// out = x / sqrt(mean(x^2) + eps) * weight. x, out [N, H]; weight [H].
void rms_norm(StepContext& ctx, const View& x, const View& weight, float eps, const View& out);

/// x += delta, then out = rms_norm(x). The residual stream `x` is updated in place.
void add_rms_norm(StepContext& ctx, const View& x, const View& delta, const View& weight, float eps,
                  const View& out);

/// out = (x - mean) / sqrt(var + eps) * weight + bias, biased variance. weight and bias [H], each
/// may be empty (1 and 0).
void layer_norm(StepContext& ctx, const View& x, const View& weight, const View& bias, float eps,
                const View& out);

/// rms_norm of every head on its own, in place; weight [dim] is shared by the heads (qk-norm).
void rms_norm_heads(StepContext& ctx, const HeadsView& x, const View& weight, float eps);

}  // namespace syrinx
