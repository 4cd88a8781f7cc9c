// Runs any functor with one thread per element.
#pragma once

#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

template <typename F>
__global__ void __launch_bounds__(256) each_element(const __grid_constant__ F f, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i < count) f(i);
}

/// Runs f(i) for i in [0, count) on the stream.
template <typename F>
void for_each(StepContext& ctx, const char* name, int64_t count, F f) {
  gpu::launch(name, each_element<F>, gpu::blocks_for(count, 256), 256, 0, stream_of(ctx), f, count);
}

}  // namespace syrinx::cuda
