// A warp writes one row of keys or values to the cache. attention.h specifies the layouts.
#pragma once

#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/gpu.cuh"

namespace syrinx::cuda {

__device__ inline void store_cached(char* part, int64_t at, float x, DType dtype) {
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(part)[at] = x;
  } else if (dtype == DType::kF16) {
    const float inside = isnan(x) ? x : fminf(fmaxf(x, -65504.f), 65504.f);
    reinterpret_cast<uint16_t*>(part)[at] = gpu::float_to_f16(inside);
  } else if (dtype == DType::kBF16) {
    reinterpret_cast<uint16_t*>(part)[at] = gpu::float_to_bf16(x);
  } else {
    part[at] = static_cast<char>(isnan(x) ? 0 : __float2int_rn(x));
  }
}

/// Writes x [dim] to row `slot` of `part`: a head's keys or a head's values in a page.
__device__ inline void write_cached_row(char* part, const float* x, int dim, int slot, bool keys,
                                        DType dtype) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool small = dtype == DType::kI8;
  float factor = 1;
  if (small) {
    float top = 0;
    bool bad = false;
    for (int d = lane; d < dim; d += 32) {
      top = fmaxf(top, fabsf(x[d]));
      bad = bad || isnan(x[d]);
    }
    top = gpu::warp_max(top);
    if (gpu::warp_sum(bad ? 1.f : 0.f) > 0) top = NAN;
    if (lane == 0) reinterpret_cast<float*>(part + int64_t{kPage} * dim)[slot] = top * (1.f / 127);
    factor = top > 0 ? 127.f / top : 0.f;
  }
  for (int d = lane; d < dim; d += 32) {
    int64_t at;
    if (keys) {
      at = small ? int64_t{d / 2} * 2 * kPage + slot * 2 + d % 2 : int64_t{d} * kPage + slot;
    } else {
      at = small ? int64_t{slot / 2} * 2 * dim + d * 2 + slot % 2 : int64_t{slot} * dim + d;
    }
    store_cached(part, at, x[d] * factor, dtype);
  }
}

/// The position of a batch row, its page, and its row in that page.
struct CachePosition {
  int64_t position;
  int32_t page;
  int slot;
};
__device__ inline CachePosition cache_position(const int32_t* row_begin, const int32_t* kv_len,
                                               const int32_t* table, int sequences, int max_pages,
                                               int row) {
  const int mine =  // the sequence that contains the row
      gpu::highest(0, sequences - 1, [&](int s) { return row_begin[s] <= row; });
  const int64_t position = int64_t{kv_len[mine]} - row_begin[mine + 1] + row;
  return {position, table[int64_t{mine} * max_pages + position / kPage % max_pages],
          static_cast<int>(position % kPage)};
}

}  // namespace syrinx::cuda
