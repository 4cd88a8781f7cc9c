// The steps between a q|k|v projection and attention on the device, one head at a time: norm,
// rotary embedding, cache. The steps and the order of the sums are those of norm.cu, rope.cu and
// attention.cu. All threads of a warp call each function.
#pragma once

#include "kernels/cuda/angles.cuh"
#include "kernels/cuda/cache_row.cuh"
#include "kernels/cuda/rms.cuh"
#include "kernels/qkv.h"

namespace syrinx::cuda {

/// A Qkv on the device.
struct QkvHeads {
  float* rows = nullptr;
  int64_t stride = 0;
  int heads = 0, kv_heads = 0, dim = 0;
  bool interleaved = false;
  Angles angles;
  const float *q_norm = nullptr, *k_norm = nullptr;
  float q_eps = 0, k_eps = 0;
  DType dtype = DType::kF32;  ///< of the cache

  QkvHeads() = default;
  QkvHeads(const Qkv& qkv, DType cache)
      : rows(qkv.rows.f32()),
        stride(qkv.rows.shape[1]),
        heads(qkv.heads),
        kv_heads(qkv.kv_heads),
        dim(qkv.dim),
        interleaved(qkv.rope && qkv.rope->spec().layout == RopeLayout::kInterleaved),
        angles(qkv.rope ? Angles(*qkv.rope) : Angles()),
        q_norm(qkv.q_norm.empty() ? nullptr : qkv.q_norm.f32()),
        k_norm(qkv.k_norm.empty() ? nullptr : qkv.k_norm.f32()),
        q_eps(qkv.q_eps),
        k_eps(qkv.k_eps),
        dtype(cache) {}
};

/// Writes head `head` (of q, then k) of a row to x [dim] in shared memory, normed and turned.
__device__ inline void turned_head(const QkvHeads& qkv, int64_t row, int head, int64_t position,
                                   float* x) {
  const int lane = static_cast<int>(threadIdx.x) % 32, dim = qkv.dim;
  const float* from = qkv.rows + row * qkv.stride + int64_t{head} * dim;
  for (int i = lane; i < dim; i += 32) x[i] = from[i];
  const bool keys = head >= qkv.heads;
  if (const float* weight = keys ? qkv.k_norm : qkv.q_norm) {
    float squares = 0;
    for (int i = lane; i < dim; i += 32) squares = fmaf(x[i], x[i], squares);
    const float factor = rms_factor(gpu::warp_sum(squares), dim, keys ? qkv.k_eps : qkv.q_eps);
    for (int i = lane; i < dim; i += 32) x[i] = x[i] * factor * weight[i];
  }
  __syncwarp();
  for (int pair = lane; pair < qkv.angles.half; pair += 32) {
    float c, s;
    qkv.angles.get(position, pair, &c, &s);
    float& first = x[qkv.interleaved ? 2 * pair : pair];
    float& second = x[qkv.interleaved ? 2 * pair + 1 : pair + qkv.angles.half];
    const float a = first, b = second;
    first = a * c - b * s;
    second = b * c + a * s;
  }
  __syncwarp();
}

/// Writes the keys or the values of kv head `head` of a row to row `slot` of `part`. x: room for a
/// head in shared memory.
__device__ inline void store_kv_head(const QkvHeads& qkv, int64_t row, int head, bool keys,
                                     int64_t position, float* x, char* part) {
  const auto slot = static_cast<int>(position % kPage);
  if (keys) {
    turned_head(qkv, row, qkv.heads + head, position, x);
    write_cached_row(part, x, qkv.dim, slot, true, qkv.dtype);
  } else {
    const int at = qkv.heads + qkv.kv_heads + head;
    write_cached_row(part, qkv.rows + row * qkv.stride + int64_t{at} * qkv.dim, qkv.dim, slot,
                     false, qkv.dtype);
  }
}

}  // namespace syrinx::cuda
