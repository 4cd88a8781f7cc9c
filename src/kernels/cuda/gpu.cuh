// What a kernel needs of its machine, and how one is launched. The kernels are written against
// this header alone: nvcc compiles them for a GPU, and where there is none a C++ compiler compiles
// the same text against an emulation, so that tests run every line of them (emulation/gpu.h).
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/context.h"

#if defined(__CUDACC__)
#include "kernels/cuda/gpu_native.cuh"
#else
#include "kernels/cuda/emulation/gpu.h"
#endif

namespace syrinx::gpu {

constexpr unsigned kFullWarp = 0xffffffffu;

__device__ inline float bf16_to_float(uint32_t bits) { return __uint_as_float(bits << 16); }

/// Sum and maximum over the warp, in every lane. The order is that of the butterfly: fixed.
__device__ inline float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kFullWarp, x, step);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, step));
  return x;
}

/// Sum over a block of `kWarps` warps, in every thread; `room` holds kWarps numbers.
template <int kWarps>
__device__ inline float block_sum(float x, float* room) {
  x = warp_sum(x);
  __syncthreads();  // room may still be read from an earlier sum
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  float total = room[0];
  for (int w = 1; w < kWarps; ++w) total += room[w];
  return total;
}

/// The last of the blocks that share `counter` to get here, all of whose earlier writes are then
/// seen by it. Every thread of the block calls this; the counter is zero again afterwards.
__device__ inline bool last_to_arrive(unsigned* counter, unsigned blocks) {
  __shared__ unsigned place;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    place = atomicAdd(counter, 1u);
    if (place + 1 == blocks) *counter = 0;
  }
  __syncthreads();
  const bool last = place + 1 == blocks;
  __threadfence();
  return last;
}

/// The highest i in [low, high] for which holds(i); it does for `low`, and where it does it does for
/// everything lower.
template <typename T, typename F>
__device__ inline T highest(T low, T high, F holds) {
  while (low < high) {
    const T middle = high - (high - low) / 2;
    if (holds(middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

inline unsigned blocks_for(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace syrinx::gpu
