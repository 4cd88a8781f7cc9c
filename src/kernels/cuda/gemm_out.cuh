// Writes the results of products, one output of one row at a time.
#pragma once

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {

/// Computes silu(gate) * up as the CPU does, in a form that does not overflow.
__device__ inline float silu_gate(float gate, float up) { return gate / (1.f + expf(-gate)) * up; }

/// Writes `sum`, the result for matrix row `row` and batch row `n`. Ignores padding rows. A part
/// without a pointer writes to `own`, the output of a convolution's segment.
__device__ inline void put(const GemmOut& to, float* own, int64_t n, int row, float sum) {
  if (to.bias) sum += to.bias[row];
  for (int p = to.count - 1; p >= 0; --p) {
    const GemmOut::Part& part = to.parts[p];
    if (row < part.first_row) continue;
    const int o = row - part.first_row;
    if (o >= part.width) return;
    float* at = (part.out ? part.out : own) + n * part.stride + part.column + o;
    *at = to.store == GemmOut::Store::kAdd ? *at + sum : sum;
    return;
  }
}

/// Writes a gated pair: matrix row `row` of an even panel, and the row 16 below it.
__device__ inline void put_gated(const GemmOut& to, int64_t n, int row, float gate, float up) {
  if (to.bias) gate += to.bias[row], up += to.bias[row + 16];
  const GemmOut::Part& part = to.parts[0];
  const int o = row / 32 * 16 + row % 16;
  if (o >= part.width) return;
  const RowsOut out = to.rounded ? RowsOut{nullptr, reinterpret_cast<uint16_t*>(part.out)}
                                 : RowsOut{part.out, nullptr};
  put_number(out, n * part.stride + part.column + o, silu_gate(gate, up));
}

}  // namespace syrinx::cuda
