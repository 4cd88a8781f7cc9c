// What the tiles of all weight types share. As gemm_impl.h, only for files that are built for one
// instruction set.
#pragma once

#include <cstdint>

namespace syrinx::cpu {

constexpr int kPanel = 16, kGroup = 64;

/// How a tile asks for weights that come later.
/// kStream: these rows pass once, so the weights come from memory as fast as the tile eats them.
/// kShare: the first of several tiles that use the same block; each asks for its share of the next
/// block, which evens out the traffic.
enum class Ahead { kStream, kShare };

/// kShare: where the tile begins to ask, and bytes to go on per k (at most 16 weights over 2
/// tiles).
struct AheadShare {
  const char* at;
  int64_t step;
};

/// Bytes ahead in each stream for kStream: one row reads four streams, for which the processor's
/// own prefetching is best; with more rows asking far ahead is up to 1.5x as fast.
template <int R>
constexpr int kStreamAhead = R == 1 ? 0 : 2048;

/// kStream, 4 bits: asks for what a thread reads in its next work item, of up to four panels, into
/// L2. Scales lie apart from their numbers, so that the processor's own prefetching begins anew too
/// often; and L1 has room for fewer lines on their way than memory needs.
static inline void ask_for_next_item(const uint8_t* at, int64_t panel_bytes) {
  __builtin_prefetch(at + 4 * panel_bytes, 0, 2);
}

/// Rows of the tile that begins at `row`: tiles of a block differ by one row at most.
static inline int tile_rows(int rows, int row, int most) {
  const int tiles = (rows + most - 1) / most;
  const int small = rows / tiles, large = rows % tiles;  // the first `large` have one row more
  return row < large * (small + 1) ? small + 1 : small;
}

/// The first of [count] values of x that there are, and zeros: whole numbers up to +-127 [kCount]
/// in units of the returned scale.
template <class V, int kCount>
inline float round_to_bytes(const float* x, int64_t count, int16_t* whole) {
  alignas(64) float part[kCount] = {};
  for (int64_t i = 0; i < count && i < kCount; ++i) part[i] = x[i];
  typename V::F m = V::set1(0.0f);
  for (int i = 0; i < kCount; i += V::kLanes) {
    const typename V::F v = V::load(part + i);
    m = V::max(m, V::max(v, V::mul(v, V::set1(-1.0f))));
  }
  alignas(64) float lanes[V::kLanes];
  V::store(lanes, m);
  float top = 0;
  for (int i = 0; i < V::kLanes; ++i) top = lanes[i] > top ? lanes[i] : top;
  const typename V::F inverse = V::set1(top > 0 ? 127.0f / top : 0.0f);
  for (int i = 0; i < kCount; i += V::kLanes) {
    V::store_i16(whole + i, V::round(V::mul(V::load(part + i), inverse)));
  }
  return top / 127.0f;
}

}  // namespace syrinx::cpu
