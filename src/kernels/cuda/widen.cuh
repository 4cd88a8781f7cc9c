// Products with 8-bit weights, in one order for all instances: a chunk of k (64) is summed without
// its scale, and the sum is multiplied by the scale and added.
#pragma once

#include "kernels/cuda/gpu.cuh"

namespace syrinx::cuda {

/// Converts the two signed bytes of pair `pair` in `word` to bf16. The result is exact, because a
/// byte fits the mantissa.
__device__ inline uint32_t widen(uint32_t word, int pair) {
  // As a float, 2^23 + (byte + 128) has byte + 128 in its lowest bits.
  const uint32_t biased = word ^ 0x80808080u;
  const float low =
      __uint_as_float(gpu::pick_bytes(biased, 0x4b000000u, pair ? 0x7442 : 0x7440)) - 8388736.f;
  const float high =
      __uint_as_float(gpu::pick_bytes(biased, 0x4b000000u, pair ? 0x7443 : 0x7441)) - 8388736.f;
  return gpu::pack_bf16(low, high);
}

/// Adds a panel's products of a chunk to `sum`. Lane 4g + t has the bytes 16t .. 16t + 15 of rows g
/// (`low`) and g + 8 (`high`), and the same numbers of its batch rows in x[0] and x[1].
template <int kTiles>
__device__ inline void multiply_bytes(float (&sum)[kTiles][4], const uint4& low, const uint4& high,
                                      const uint4 (&x)[2][kTiles]) {
  const uint32_t lows[4] = {low.x, low.y, low.z, low.w};
  const uint32_t highs[4] = {high.x, high.y, high.z, high.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t a0 = widen(lows[i], 0), a1 = widen(highs[i], 0);
    const uint32_t a2 = widen(lows[i], 1), a3 = widen(highs[i], 1);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint4 b = x[i / 2][tile];
      gpu::mma_bf16(sum[tile], a0, a1, a2, a3, i % 2 ? b.z : b.x, i % 2 ? b.w : b.y);
    }
  }
}

/// Adds the sums of a chunk, times the scales of their rows (bf16), to `acc`.
template <int kTiles>
__device__ inline void add_scaled(float (&acc)[kTiles][4], const float (&sum)[kTiles][4],
                                  uint32_t scale_low, uint32_t scale_high) {
  const float scale[2] = {gpu::bf16_to_float(scale_low), gpu::bf16_to_float(scale_high)};
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int i = 0; i < 4; ++i) acc[tile][i] = fmaf(sum[tile][i], scale[i / 2], acc[tile][i]);
  }
}

}  // namespace syrinx::cuda
