// Runs any functor, with one thread for each element.
#pragma once

#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/rows_out.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

template <typename F>
__global__ void __launch_bounds__(256) each_element(const __grid_constant__ F f, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < count) f(i);
}

/// The row and column of element `i` of a matrix.
struct RowColumn {
  int64_t row, column;
};
/// Divides i by `width`, in 32 bits if both fit: in 64 bits it needs a hundred instructions.
__device__ inline RowColumn row_and_column(int64_t i, int64_t width) {
  if ((i | width) >> 32 != 0) return {i / width, i % width};
  const auto index = static_cast<uint32_t>(i), size = static_cast<uint32_t>(width);
  return {index / size, index % size};
}

__device__ inline void put_number(const RowsOut& to, int64_t at, float x) {
  if (to.bf16) {
    to.bf16[at] = gpu::float_to_bf16(x);
  } else {
    to.f32[at] = x;
  }
}

/// Runs f(i) for i in [0, count) on the stream.
template <typename F>
void for_each(StepContext& ctx, const char* name, int64_t count, F f) {
  gpu::launch(name, each_element<F>, gpu::blocks_for(count, 256), 256, 0, stream_of(ctx), f, count);
}

}  // namespace syrinx::cuda
