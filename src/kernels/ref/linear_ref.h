// Reference results for tests of linear.h: plain loops, sums in double, weights not packed.
#pragma once

#include "tensor/tensor.h"

namespace syrinx::ref {

/// Computes out [N, O] = x [N, I] weight [O, I]^T + bias [O] (bias may be empty); all f32.
void linear(const View& x, const View& weight, const View& bias, const View& out);

/// Computes out = silu(gate) * up, element-wise, f32 of one shape.
void silu_gate(const View& gate, const View& up, const View& out);

}  // namespace syrinx::ref
