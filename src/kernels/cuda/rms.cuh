// The factor of an RMS norm on the device, and the order of its sums.
#pragma once

#include "kernels/cuda/gpu.cuh"

namespace syrinx::cuda {

/// Up to this width, a warp sums a row: lane l adds numbers l, l + 32, .... In a wider row, thread
/// t of kNormThreads adds numbers t, t + kNormThreads, .... Then the sums of the threads are added.
constexpr int64_t kShortNorm = 256;
constexpr int kNormThreads = 256;

__device__ inline float rms_factor(float squares, int64_t width, float eps) {
  return 1.f / sqrtf(squares / static_cast<float>(width) + eps);
}

/// Computes in one warp the sum of squares of x [width], in the order in which kNormThreads threads
/// add. Lane l does the work of the threads 4 l + c + 128 h (c < 4, h < 2), and reads their numbers
/// together. `width`: a multiple of 4; x is aligned to 16 bytes.
__device__ inline float sum_of_squares(const float* x, int64_t width) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (width <= kShortNorm) {
    float squares = 0;
    for (int64_t i = lane; i < width; i += 32) squares = fmaf(x[i], x[i], squares);
    return gpu::warp_sum(squares);
  }
  constexpr int kLoads = 8;
  float sum[2][4] = {};  // [h][c]
  for (int64_t begin = 4 * lane; begin < width; begin += 128 * kLoads) {
    float4 part[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int64_t at = begin + 128 * i;
      part[i] = at < width ? *reinterpret_cast<const float4*>(x + at) : float4{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      float(&own)[4] = sum[i % 2];
      own[0] = fmaf(part[i].x, part[i].x, own[0]);
      own[1] = fmaf(part[i].y, part[i].y, own[1]);
      own[2] = fmaf(part[i].z, part[i].z, own[2]);
      own[3] = fmaf(part[i].w, part[i].w, own[3]);
    }
  }
  // Eight lanes have the sums of one of rms_norm's warps. Adds them in the order of warp_sum().
  __syncwarp();
  float of_warp[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
#pragma unroll
    for (int step = 4; step > 0; step /= 2) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sum[h][c] += __shfl_xor_sync(gpu::kFullWarp, sum[h][c], step);
    }
    of_warp[h] = (sum[h][0] + sum[h][2]) + (sum[h][1] + sum[h][3]);
  }
  float total = __shfl_sync(gpu::kFullWarp, of_warp[0], 0);
#pragma unroll
  for (int w = 1; w < kNormThreads / 32; ++w)
    total += __shfl_sync(gpu::kFullWarp, of_warp[w / 4], w % 4 * 8);
  return total;
}

}  // namespace syrinx::cuda
