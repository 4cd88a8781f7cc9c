// The functions of the GPU that kernels use, and the launch of kernels. Kernels include only this
// header. nvcc compiles them for a GPU. Without a GPU, a C++ compiler compiles the same source for
// an emulation (emulation/gpu.h), so that tests run every line.
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

/// Each returns the sum or the maximum over the warp, in every lane, in a fixed butterfly order.
__device__ inline float warp_sum(float x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(kFullWarp, x, step);
  return x;
}
__device__ inline float warp_max(float x) {
  for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kFullWarp, x, step));
  return x;
}

/// Returns the sum over a block of `kWarps` warps, in every thread; `room` has kWarps numbers.
template <int kWarps>
__device__ inline float block_sum(float x, float* room) {
  x = warp_sum(x);
  __syncthreads();  // threads may still read `room` for an earlier sum
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  float total = room[0];
  for (int w = 1; w < kWarps; ++w) total += room[w];
  return total;
}

/// Returns the maximum over a block of `kWarps` warps, in every thread; `room` has kWarps numbers.
template <int kWarps>
__device__ inline float block_max(float x, float* room) {
  x = warp_max(x);
  __syncthreads();  // threads may still read `room` for an earlier maximum
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  float top = room[0];
  for (int w = 1; w < kWarps; ++w) top = fmaxf(top, room[w]);
  return top;
}

/// Returns true in the block that arrives last among the blocks that share `counter`. That block
/// reads all earlier writes of the other blocks. Every thread of a block must call it. Afterwards
/// the counter is zero.
///
/// Fences: after the first barrier, the writes of the block's threads happen before the fence of
/// thread 0. Fences are cumulative: with the atomic, that fence orders all these writes before the
/// fence after the last block's atomic. The last block's reads follow that fence by the second
/// barrier. A fence of another thread would order nothing, because only thread 0 accesses the
/// counter.
__device__ inline bool last_to_arrive(unsigned* counter, unsigned blocks) {
  __shared__ unsigned place;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    place = atomicAdd(counter, 1u);
    if (place + 1 == blocks) *counter = 0;
    __threadfence();
  }
  __syncthreads();
  return place + 1 == blocks;
}

/// Returns the highest i in [low, high] for which holds(i). holds(low) must be true. If holds(i) is
/// true, it must be true for all lower values.
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

/// Queues a kernel of Begin::kEarly, see launch().
template <typename... P, typename... A>
void launch_early(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                  Stream& stream, A... args) {
  launch_as(early_wanted() ? Begin::kEarly : Begin::kAfter, name, kernel, grid, block, shared,
            stream, args...);
}
/// Queues kernel(args...) on the stream. `name` is for messages.
template <typename... P, typename... A>
void launch(const char* name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
            Stream& stream, A... args) {
  launch_as(Begin::kAfter, name, kernel, grid, block, shared, stream, args...);
}

inline unsigned blocks_for(int64_t count, int64_t per_block) {
  return static_cast<unsigned>((count + per_block - 1) / per_block);
}

}  // namespace syrinx::gpu
