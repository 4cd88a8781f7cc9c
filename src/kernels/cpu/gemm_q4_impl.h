// The products of 4-bit weights, whose layout packed_matrix.h specifies. A part of gemm_impl.h.
//
// In addition to gemm_impl.h's list, V has: nibbles (kLanes * 4 bytes -> two I of bytes, the low
// halves and the high ones), set1_quad (four int8 in each lane), dot (c + products of unsigned
// bytes up to 15 and int8 up to +-127, in a type that can hold the sum of 8 of them), total (that
// type -> I: the sum of a lane's four bytes), f16 (kLanes f16 -> F), u8 (kLanes bytes -> F).
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/gemm_tiles.h"

namespace syrinx::cpu {

constexpr int kGroupQ4 = 32;                              // inputs that share a scale
constexpr int kBlocksQ4 = 4, kBlockBytesQ4 = 4 * kPanel;  // blocks per group, of 8 inputs each
constexpr int kGroupBytesQ4 = kBlocksQ4 * kBlockBytesQ4;
constexpr int kScaleBytesQ4 = 3 * kPanel;  // f16 scales, then the zeros in eighths

/// tile() for groups [g0, g1) of 32. With the stored numbers q, the zero z and a row's numbers x,
/// sum(x (q - z)) = sum(x q) - z sum(x) is exact in f32. The sum is multiplied by the scales, and
/// the groups are added in order.
template <class V, int R, int P, Ahead kAhead>
inline void tile_q4(const void* const* x, int64_t g0, int64_t g1, const uint8_t* panel,
                    const GemmWeights& weights, float* sums, int64_t sum_step, bool first,
                    AheadShare share = {}) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = kPanel / V::kLanes;
  const int64_t panel_bytes = weights.panel_bytes;
  const uint8_t* b = panel + g0 * kGroupBytesQ4;
  const uint8_t* scales = panel + weights.padded_k / 2 * kPanel + g0 * kScaleBytesQ4;
  const int8_t* a[R];
  const GemmGroupQ4* group[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
    const auto* row = static_cast<const int8_t*>(x[r]);
    a[r] = row + g0 * kGroupQ4;
    group[r] = reinterpret_cast<const GemmGroupQ4*>(row + weights.padded_k) + g0;
  }
  for (int64_t g = g0; g < g1; ++g) {
    I c[R][P * kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < P * kVectors; ++v) c[r][v] = V::set1_i(0);
    }
#pragma GCC unroll 4
    for (int i = 0; i < kBlocksQ4; ++i) {
      if (kAhead == Ahead::kShare) {
        __builtin_prefetch(share.at);
        share.at += share.step;
      }
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) {
        const uint8_t* at = b + p * panel_bytes + i * kBlockBytesQ4;
        if (kAhead == Ahead::kStream) ask_for(at + share.step);
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          I low, high;
          V::nibbles(at + v * V::kLanes * 4, low, high);
#pragma GCC unroll 16
          for (int r = 0; r < R; ++r) {
            I& sum = c[r][p * kVectors + v];
            sum = V::dot(low, V::set1_quad(a[r] + 8 * i), sum);
            sum = V::dot(high, V::set1_quad(a[r] + 8 * i + 4), sum);
          }
        }
      }
    }
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      const uint8_t* at = scales + p * panel_bytes;
      if (kAhead == Ahead::kStream) ask_for(at + share.step);
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        const F scale = V::f16(reinterpret_cast<const uint16_t*>(at) + v * V::kLanes);
        const F zero = V::mul(V::u8(at + 2 * kPanel + v * V::kLanes), V::set1(-0.125f));
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          float* to = sums + p * sum_step + r * kPanel + v * V::kLanes;
          const F before = first ? V::set1(0.0f) : V::load(to);
          const F exact =
              V::fma(zero, V::set1(group[r]->sum), V::to_f(V::total(c[r][p * kVectors + v])));
          V::store(to, V::fma(exact, V::mul(scale, V::set1(group[r]->scale)), before));
        }
      }
    }
    first = false;
    b += kGroupBytesQ4;
    scales += kScaleBytesQ4;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
      a[r] += kGroupQ4;
      ++group[r];
    }
  }
}

template <class V, int P, Ahead kAhead, int R = 1>
inline void any_tile_q4(int rows, const void* const* x, int64_t g0, int64_t g1, const uint8_t* b,
                        const GemmWeights& w, float* sums, int64_t sum_step, bool first,
                        AheadShare share = {}) {
  if constexpr (R <= V::kTileRows) {
    if (rows == R) {
      return tile_q4<V, R, P, kAhead>(x, g0, g1, b, w, sums, sum_step, first, share);
    }
    any_tile_q4<V, P, kAhead, R + 1>(rows, x, g0, g1, b, w, sums, sum_step, first, share);
  }
}

/// Computes one panel for any number of rows.
template <class V>
void one_panel_q4(const GemmWeights& w, const GemmRows& rows, const uint8_t* b, float* sums,
                  AheadShare next) {
  const int64_t groups = w.padded_k / kGroupQ4;
  if (rows.count <= V::kTileRows) {
    return any_tile_q4<V, 1, Ahead::kStream>(rows.count, rows.x, 0, groups, b, w, sums, 0, true,
                                             next);
  }
  constexpr int64_t kBlock = 16;  // groups that stay in L1 while all rows are processed
  const int64_t tiles = (rows.count + V::kTileRows - 1) / V::kTileRows;
  // A tile prefetches kBlocksQ4 times per group.
  const int64_t step = (kBlockBytesQ4 + tiles - 1) / tiles;
  for (int64_t g = 0; g < groups; g += kBlock) {
    const int64_t end = g + kBlock < groups ? g + kBlock : groups;
    AheadShare share{reinterpret_cast<const char*>(b + end * kGroupBytesQ4), step};
    for (int r = 0; r < rows.count; share.at += (end - g) * kBlocksQ4 * step) {
      const int n = tile_rows(rows.count, r, V::kTileRows);
      any_tile_q4<V, 1, Ahead::kShare>(n, rows.x + r, g, end, b, w, sums + r * kPanel, 0, g == 0,
                                       share);
      r += n;
    }
  }
}

template <class V>
void products_q4(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                 float* sums) {
  const uint8_t* b = w.data + panel * w.panel_bytes;
  const int64_t sum_step = int64_t{rows.count} * kPanel, groups = w.padded_k / kGroupQ4;
  const AheadShare next{nullptr, to_next_item(w, panel, count)};
  int p = 0;
  // As in products_q8, computes several panels at once for few rows.
  if (rows.count == 1 && count == 4) {
    tile_q4<V, 1, 4, Ahead::kStream>(rows.x, 0, groups, b, w, sums, sum_step, true, next);
    p = 4;
  }
  for (; rows.count <= 2 && p + 2 <= count; p += 2) {
    const uint8_t* at = b + p * w.panel_bytes;
    float* to = sums + p * sum_step;
    if (rows.count == 1) {
      tile_q4<V, 1, 2, Ahead::kStream>(rows.x, 0, groups, at, w, to, sum_step, true, next);
    } else {
      tile_q4<V, 2, 2, Ahead::kStream>(rows.x, 0, groups, at, w, to, sum_step, true, next);
    }
  }
  for (; p < count; ++p) one_panel_q4<V>(w, rows, b + p * w.panel_bytes, sums + p * sum_step, next);
}

template <class V>
void quantize_q4(const float* x, int64_t k, int64_t padded_k, void* row) {
  auto* q = static_cast<int8_t*>(row);
  auto* group = reinterpret_cast<GemmGroupQ4*>(q + padded_k);
  for (int64_t g = 0; g < padded_k; g += kGroupQ4, ++group) {
    RoundedBytes<V, kGroupQ4> bytes;
    round_to_bytes(x + g, k - g, bytes);
    for (int i = 0; i < kGroupQ4; ++i) q[g + i] = static_cast<int8_t>(bytes.whole[i]);
    *group = {bytes.unit, bytes.sum};
  }
}

}  // namespace syrinx::cpu
