// Reference results for tests of conv.h: plain loops, sums in double, torch's weight layouts. All
// tensors are f32.
#pragma once

#include "tensor/tensor.h"

namespace syrinx::ref {

/// Computes x [T_in, C], weight [O, C / groups, K], bias [O] or empty -> out [T_out, O], for whole
/// windows only.
void conv1d(const View& x, const View& weight, const View& bias, int64_t dilation, int64_t stride,
            int64_t groups, const View& out);

/// Computes torch's conv_transpose1d without padding: x [T, C], weight [C, O / groups, K] -> out
/// [(T-1)*s + K, O].
void conv_transpose1d(const View& x, const View& weight, const View& bias, int64_t stride,
                      const View& out, int64_t groups = 1);

}  // namespace syrinx::ref
