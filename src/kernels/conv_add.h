// A convolution that adds to its output, for residual branches.
#pragma once

#include "kernels/conv.h"

namespace syrinx {

/// Computes out[t, o] += b[o] + sum over j, c of w[o, c, j] x[t + j * d, c], with the bits of
/// conv1d() and a separate addition. `w` must not be depthwise.
void conv1d_add(StepContext& ctx, const PackedConv1d& w, const View& x, const View& out,
                int64_t dilation = 1);

}  // namespace syrinx
