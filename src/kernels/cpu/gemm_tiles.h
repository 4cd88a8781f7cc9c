// Code that the tiles of all weight types share. Like gemm_impl.h, include it only in files
// compiled for one instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

constexpr int kPanel = 16, kGroup = 64;

/// How a tile prefetches later weights. kStream: the rows use the weights only once, so the tile
/// reads them from memory at its own speed. kShare: several tiles use the same block; each one
/// prefetches a part of the next block, which spreads the memory traffic.
enum class Ahead { kStream, kShare };

/// For kShare: `at` is where the tile begins to prefetch in its first panel, and at the same place
/// in the others; `step` is the number of bytes of a panel that it prefetches per value of k. For
/// kStream with 4 bits: `step` is the prefetch distance in bytes.
struct AheadShare {
  const char* at;
  int64_t step;
};

/// How many bytes kStream prefetches ahead in each panel. For one row, which reads four panels side
/// by side, the processor's own prefetching is best. With more rows, prefetching far ahead is up to
/// 1.5x as fast.
template <int R>
constexpr int kStreamAhead = R == 1 ? 0 : 2048;

/// Returns the prefetch distance for panels [panel, panel + count) with kStream and 4 bits: the
/// distance to the next work item, which mostly runs on the same thread; 0 at the end. The scales
/// are stored apart from the numbers, which interrupts the processor's own prefetching too often.
static inline int64_t to_next_item(const GemmWeights& w, int64_t panel, int count) {
  constexpr int64_t kItem = 4;  // most panels of a work item
  return panel + count + kItem <= w.panels ? kItem * w.panel_bytes : 0;
}

/// Prefetches into L2. L1 allows fewer outstanding loads than the memory's latency needs.
static inline void ask_for(const uint8_t* at) { __builtin_prefetch(at, 0, 2); }

/// Prefetches where the sums of `count` rows from row r on will be written. The memory of a wide
/// output is mostly not in the caches.
static inline void ask_for_out(const GemmRows& rows, int r, int count) {
  constexpr int kPanels = 2;  // panels of an item with several rows
  for (int i = r; rows.out && i < r + count; ++i)
    for (int p = 0; p < kPanels; ++p) __builtin_prefetch(rows.out[i] + rows.column + p * kPanel, 1);
}

/// Returns the number of rows of the tile at `row`. Tiles of a block differ by at most one row.
static inline int tile_rows(int rows, int row, int most) {
  const int tiles = (rows + most - 1) / most;
  const int small = rows / tiles, large = rows % tiles;  // the first `large` have one row more
  return row < large * (small + 1) ? small + 1 : small;
}

/// Whole numbers up to +-127 [kCount] in units of `unit`, and their sum.
template <class V, int kCount>
struct RoundedBytes {
  alignas(64) int16_t whole[kCount];
  float unit = 0, sum = 0;
};

/// Rounds the first `count` values of x, and fills the rest with zeros.
template <class V, int kCount>
inline void round_to_bytes(const float* x, int64_t count, RoundedBytes<V, kCount>& out) {
  using F = typename V::F;
  alignas(64) float part[kCount];
  if (count < kCount) {
    for (int i = 0; i < kCount; ++i) part[i] = i < count ? x[i] : 0;
    x = part;
  }
  F v[kCount / V::kLanes], m = V::set1(0.0f), sum = m;
#pragma GCC unroll 8
  for (int i = 0; i < kCount / V::kLanes; ++i) {
    v[i] = V::load(x + i * V::kLanes);
    m = V::max(m, V::max(v[i], V::mul(v[i], V::set1(-1.0f))));
  }
  const float top = V::largest(m);
  const F inverse = V::set1(top > 0 ? 127.0f / top : 0.0f);
#pragma GCC unroll 8
  for (int i = 0; i < kCount / V::kLanes; ++i) {
    v[i] = V::round(V::mul(v[i], inverse));
    sum = V::add(sum, v[i]);
    V::store_i16(out.whole + i * V::kLanes, v[i]);
  }
  out.unit = top / 127.0f;
  out.sum = V::sum(sum);
}

}  // namespace syrinx::cpu
