// What the tiles of all weight types share. As gemm_impl.h, only for files that are built for one
// instruction set.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_block.h"

namespace syrinx::cpu {

constexpr int kPanel = 16, kGroup = 64;

/// How a tile asks for weights that come later.
/// kStream: these rows pass once, so the weights come from memory as fast as the tile eats them.
/// kShare: the first of several tiles that use the same block; each asks for its share of the next
/// block, which evens out the traffic.
enum class Ahead { kStream, kShare };

/// kShare: where the tile begins to ask, and bytes to go on per k (at most 16 weights over 2
/// tiles). kStream, 4 bits: `step` is how far ahead of itself it asks.
struct AheadShare {
  const char* at;
  int64_t step;
};

/// Bytes ahead in each stream for kStream: one row reads four streams, for which the processor's
/// own prefetching is best; with more rows asking far ahead is up to 1.5x as fast.
template <int R>
constexpr int kStreamAhead = R == 1 ? 0 : 2048;

/// kStream, 4 bits: how far ahead of panels [panel, panel + count) their lines are asked for: those
/// of the work item after this one, which is the same thread's most of the time; behind the last
/// one nothing is wanted. Scales lie apart from their numbers, so that the processor's own
/// prefetching begins anew too often.
static inline int64_t to_next_item(const GemmWeights& w, int64_t panel, int count) {
  constexpr int64_t kItem = 4;  // panels, at most
  return panel + count + kItem <= w.panels ? kItem * w.panel_bytes : 0;
}

/// Into L2: L1 has room for fewer lines on their way than memory needs.
static inline void ask_for(const uint8_t* at) { __builtin_prefetch(at, 0, 2); }

/// Rows of the tile that begins at `row`: tiles of a block differ by one row at most.
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

/// Reads the first `count` values of x, then zeros.
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
