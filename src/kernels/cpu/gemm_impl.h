// The body of gemm_{portable,avx2,...}.cc, written once for a vector type V that each of these
// files defines in an unnamed namespace. Therefore no function compiled here for one instruction
// set is linked into another file. For the same reason this code does not call the C++ library.
//
// V has: kLanes; kUnroll (pairs of k per step of the 8-bit loop, a divisor of 4); kTileRows (most
// rows of an 8-bit tile); kTilePanels (panels of a tile, 1 or 2); F (kLanes floats), I (kLanes
// int32); load, store, widen (16 bf16 in the order of packed_matrix.h), set1, add, mul, fma, div,
// max, min, round; largest and sum of the lanes (in any order, as they are used for exact whole
// numbers); set1_i, pairs (2 * kLanes int8 -> int16), set1_pair, madd (adds sums of products of
// int16 pairs to I), to_f, pow2 (2^n of whole n in F); split (kLanes pairs of bf16 -> the second or
// the first of each as F); and the functions that gemm_q4_impl.h lists.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_block.h"
#include "kernels/cpu/gemm_q4_impl.h"
#include "kernels/cpu/gemm_tiles.h"

namespace syrinx::cpu {

/// A range of k: `spans` times `len` values of x, starting at x + offset.
struct KBlock {
  int64_t offset, spans, len;
};

/// Most rows of a tile of f32 sums. A sum is one chain of FMAs, so fewer than 8 chains would wait
/// for each other. Vectors of 8 lanes have two chains for each row.
template <class V>
constexpr int kFloatRows = V::kLanes == kPanel ? 8 : cpu::kTileRows;

/// Types of weights for tile(). Each derives from V and adds: the types of a row's numbers
/// (X) and of a panel's numbers (W); the number of k and of products per step of the loop;
/// functions that load weights into the lanes of F, copy a row's number to all lanes, and return
/// c + their product. Single is for f32, or for bf16 weights with f32 activations.
template <class V, class S>
struct Single : V {
  using X = float;
  using W = S;
  using F = typename V::F;
  using Factor = F;
  static constexpr int kTileRows = kFloatRows<V>, kStep = 1, kProducts = 1;
  static constexpr int kVectors = kPanel / V::kLanes;
  static void weights(const float* b, int, F (&w)[kVectors]) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) w[v] = V::load(b + v * V::kLanes);
  }
  static void weights(const uint16_t* b, int, F (&w)[kVectors]) { V::widen(b, w); }
  static F number(const X* x, int) { return V::set1(*x); }
  static F dot(F x, F w, F c) { return V::fma(x, w, c); }
};

/// Pairs of bf16 with bf16 activations. A pair's second product is added first, as in vdpbf16ps.
template <class V>
struct Pairs : V {
  using X = float;
  using W = uint16_t;
  using F = typename V::F;
  using Factor = F;
  static constexpr int kTileRows = kFloatRows<V>, kStep = 2, kProducts = 2;
  static constexpr int kVectors = kPanel / V::kLanes;
  static void weights(const W* b, int product, F (&w)[kVectors]) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) w[v] = V::split(b + v * V::kLanes * 2, product == 0);
  }
  static F number(const X* x, int product) { return V::set1(x[1 - product]); }
  static F dot(F x, F w, F c) { return V::fma(x, w, c); }
};

/// Computes sums [P][sum_step / 16][16] (+)= R rows times P panels over one block of k. The k
/// products of an output are added one by one in a fixed order, so the bits depend neither on R, P
/// nor on the blocks. T is one of the types above. Never inlined: with tiles of several heights in
/// one function, too few registers remain for the rows.
template <class T, int R, int P, Ahead kAhead>
[[gnu::noinline]] void tile(const void* const* x, KBlock k, int64_t span_step,
                            const typename T::W* b, int64_t panel_step, float* sums,
                            int64_t sum_step, bool first, AheadShare share = {}) {
  using F = typename T::F;
  using X = typename T::X;
  using W = typename T::W;
  constexpr int kVectors = kPanel / T::kLanes;
  F c[R][P * kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        c[r][p * kVectors + v] =
            first ? T::set1(0.0f) : T::load(sums + p * sum_step + r * kPanel + v * T::kLanes);
      }
    }
  }
  const X* a[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) a[r] = static_cast<const X*>(x[r]) + k.offset;
  for (int64_t s = 0; s < k.spans; ++s) {
    const int64_t begin = s * span_step, end = begin + k.len;
    for (int64_t i = begin; i < end; i += T::kStep) {
      // Does not prefetch at every k: repeating a prefetch of a line that is being loaded costs up
      // to a third of the speed.
      constexpr int kEvery = 8 / sizeof(W);
      if (kAhead == Ahead::kShare && i % kEvery == 0) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {  // into L2, because in L1 it would evict this block
          __builtin_prefetch(share.at + p * panel_step * static_cast<int64_t>(sizeof(W)), 0, 2);
        }
        share.at += kEvery * share.step;
      }
      if (kAhead == Ahead::kStream && kStreamAhead<R>) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          __builtin_prefetch(reinterpret_cast<const char*>(b + p * panel_step) + kStreamAhead<R>);
        }
      }
#pragma GCC unroll 2
      for (int product = 0; product < T::kProducts; ++product) {
        typename T::Factor w[P][kVectors];
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) T::weights(b + p * panel_step, product, w[p]);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const typename T::Factor value = T::number(a[r] + i, product);
#pragma GCC unroll 16
          for (int v = 0; v < P * kVectors; ++v) {
            c[r][v] = T::dot(value, w[v / kVectors][v % kVectors], c[r][v]);
          }
        }
      }
      b += kPanel * T::kStep;
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) {
        T::store(sums + p * sum_step + r * kPanel + v * T::kLanes, c[r][p * kVectors + v]);
      }
    }
  }
}

/// Rows for 8-bit weights: int16 numbers with one scale, two numbers per lane of I.
template <class V>
struct RowScale : V {
  using X = int16_t;
  using I = typename V::I;
  static constexpr int kPairs = 1;  // pairs of k per step of the loop
  static constexpr bool kGroupScales = false;
  static constexpr bool kReady = false;  // whether several tiles read Ready weights
  // Bytes in a panel: of a pair of k, of that pair for the lanes of I, of a group with its scales.
  static constexpr int kPairBytes = 2 * kPanel, kVectorBytes = 2 * V::kLanes;
  static constexpr int kGroupBytes = kGroup / 2 * kPairBytes + 2 * kPanel;
  /// Sets the lanes of c to the initial value of a sum.
  static void begin(I& c) { c = V::set1_i(0); }
};

/// Rows of 8-bit numbers with scales per group (GemmGroup), stored as int16 here: for instruction
/// sets whose byte products are not faster or not exact. Other sets define X = int8_t and kPairs =
/// 2, and add kOffset to the weights.
template <class V>
struct GroupScales : RowScale<V> {
  using I = typename V::I;
  static constexpr bool kGroupScales = true;
  static constexpr int kOffset = 0;
  static void begin(I& c, const int32_t* start) { c = V::set1_i(*start); }
};

/// Weights as V::pairs() returns them: vectors of I, one after another. Each group begins at a
/// multiple of 64 bytes.
template <class V>
struct Ready : V {
  using I = typename V::I;
  static constexpr int kVectorBytes = sizeof(I);
  static constexpr int kPairBytes = kPanel / V::kLanes * kVectorBytes / V::kPairs;
  static constexpr int kGroupBytes = kGroup / 2 * kPairBytes + 64;
  static I pairs(const uint8_t* p) {
    I w;
    __builtin_memcpy(&w, p, sizeof w);
    return w;
  }
};

/// Converts a group of a panel of V to the layout of Ready<V>.
template <class V>
inline void make_ready(const uint8_t* group, uint8_t* to) {
  for (int u = 0; u < kGroup / 2; u += V::kPairs) {
    for (int v = 0; v < kPanel / V::kLanes; ++v) {
      const typename V::I w = V::pairs(group + u * V::kPairBytes + v * V::kVectorBytes);
      __builtin_memcpy(to + u * Ready<V>::kPairBytes + v * sizeof w, &w, sizeof w);
    }
  }
  __builtin_memcpy(to + kGroup / 2 * Ready<V>::kPairBytes, group + kGroup / 2 * V::kPairBytes,
                   2 * kPanel);
}

/// Panels of 8-bit weights in the layout of PackedMatrix or of Ready.
struct PanelBytes {
  const uint8_t* at;  // the first group of the first panel
  int64_t step;       // bytes from one panel to the next
};

/// tile() for int8 weights in groups [g0, g1). Sums within a group are exact; groups are added in
/// order. V is RowScale or GroupScales. Never inlined, as tile().
template <class V, int R, int P, Ahead kAhead>
[[gnu::noinline]] void tile_q8(const void* const* x, int64_t g0, int64_t g1, PanelBytes panels,
                               const GemmWeights& weights, float* sums, int64_t sum_step,
                               bool first, AheadShare share = {}) {
  using F = typename V::F;
  using I = typename V::I;
  constexpr int kVectors = kPanel / V::kLanes;
  using X = typename V::X;
  const uint8_t* b = panels.at;
  auto group = [&](int r, int64_t g) {
    const X* end = static_cast<const X*>(x[r]) + weights.padded_k;
    return reinterpret_cast<const GemmGroup*>(end) + g;
  };
  const X* a[R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) a[r] = static_cast<const X*>(x[r]) + g0 * kGroup;
  for (int64_t g = g0; g < g1; ++g) {
    I c[R][P * kVectors];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < P * kVectors; ++v) {
        if constexpr (V::kGroupScales) {
          V::begin(c[r][v], &group(r, g)->start);
        } else {
          V::begin(c[r][v]);
        }
      }
    }
    constexpr int kUnroll = V::kUnroll;
    for (int i = 0; i < kGroup / 2; i += kUnroll) {
      if (kAhead == Ahead::kShare && i % 4 == 0) {
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {  // into L1: these blocks are small
          __builtin_prefetch(share.at + p * weights.panel_bytes);
        }
        share.at += share.step;
      }
#pragma GCC unroll 16
      for (int u = i; u < i + kUnroll; u += V::kPairs) {
        I w[P * kVectors];
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          const uint8_t* at = b + p * panels.step + (u - i) * V::kPairBytes;
          if (kAhead == Ahead::kStream && kStreamAhead<R> && (u - i) % 2 == 0) {
            __builtin_prefetch(at + kStreamAhead<R>);
          }
#pragma GCC unroll 16
          for (int v = 0; v < kVectors; ++v) {
            w[p * kVectors + v] = V::pairs(at + v * V::kVectorBytes);
          }
        }
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) {
          const I value = V::set1_pair(a[r] + 2 * u);
#pragma GCC unroll 16
          for (int v = 0; v < P * kVectors; ++v) V::madd(c[r][v], value, w[v]);
        }
      }
      b += kUnroll * V::kPairBytes;
    }
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p) {
      F scale[kVectors];
      V::widen(reinterpret_cast<const uint16_t*>(b + p * panels.step), scale);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
        for (int v = 0; v < kVectors; ++v) {
          float* to = sums + p * sum_step + r * kPanel + v * V::kLanes;
          const F before = first ? V::set1(0.0f) : V::load(to);
          F unit = scale[v];
          if constexpr (V::kGroupScales) unit = V::mul(unit, V::set1(group(r, g)->scale));
          V::store(to, V::fma(V::to_f(c[r][p * kVectors + v]), unit, before));
        }
      }
    }
    first = false;
    b += V::kGroupBytes - kGroup / 2 * V::kPairBytes;
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) a[r] += kGroup;
  }
}

template <class T, int P, Ahead kAhead, int R = 1>
inline void any_tile(int rows, const void* const* x, KBlock k, int64_t span_step,
                     const typename T::W* b, int64_t panel_step, float* sums, int64_t sum_step,
                     bool first, AheadShare share = {}) {
  if constexpr (R <= T::kTileRows) {
    if (rows == R) {
      return tile<T, R, P, kAhead>(x, k, span_step, b, panel_step, sums, sum_step, first, share);
    }
    any_tile<T, P, kAhead, R + 1>(rows, x, k, span_step, b, panel_step, sums, sum_step, first,
                                  share);
  }
}

template <class V, int P, Ahead kAhead, int R = 1>
inline void any_tile_q8(int rows, const void* const* x, int64_t g0, int64_t g1, PanelBytes b,
                        const GemmWeights& w, float* sums, int64_t sum_step, bool first,
                        AheadShare share = {}) {
  if constexpr (R <= V::kTileRows) {
    if (rows == R) {
      return tile_q8<V, R, P, kAhead>(x, g0, g1, b, w, sums, sum_step, first, share);
    }
    any_tile_q8<V, P, kAhead, R + 1>(rows, x, g0, g1, b, w, sums, sum_step, first, share);
  }
}

/// Calls f(block, position in k) for blocks of about kBlock in k, so that a panel's part stays in
/// L1 while all rows are processed. If `whole` (rows are processed once), calls f for one block.
template <int64_t kBlock, class Body>
inline void for_k_blocks(const GemmWeights& w, bool whole, Body f) {
  if (whole) return f(KBlock{0, w.spans, w.span_len}, 0);
  if (w.span_len >= kBlock) {
    const int64_t pieces = (w.span_len + kBlock - 1) / kBlock;
    const int64_t len = ((w.span_len + pieces - 1) / pieces + 1) / 2 * 2;  // whole pairs of k
    for (int64_t s = 0; s < w.spans; ++s) {
      for (int64_t i = 0; i < w.span_len; i += len) {
        const int64_t part = w.span_len - i < len ? w.span_len - i : len;
        f(KBlock{s * w.span_step + i, 1, part}, s * w.span_len + i);
      }
    }
    return;
  }
  const int64_t step = kBlock / w.span_len;
  for (int64_t s = 0; s < w.spans; s += step) {
    const int64_t part = w.spans - s < step ? w.spans - s : step;
    f(KBlock{s * w.span_step, part, w.span_len}, s * w.span_len);
  }
}

/// Computes P panels for any number of rows.
template <class T, int P>
void some_panels(const GemmWeights& w, const GemmRows& rows, const typename T::W* b, float* sums) {
  const bool single = rows.count <= T::kTileRows;
  const int64_t tiles = (rows.count + T::kTileRows - 1) / T::kTileRows;
  const int64_t sum_step = int64_t{rows.count} * kPanel;
  const int64_t panel_step = w.panel_bytes / static_cast<int64_t>(sizeof(typename T::W));
  for_k_blocks<256 / P>(w, single, [&](KBlock k, int64_t position) {
    const typename T::W* part = b + position * kPanel;
    const bool first = position == 0;
    if (single) {
      return any_tile<T, P, Ahead::kStream>(rows.count, rows.x, k, w.span_step, part, panel_step,
                                            sums, sum_step, first, {});
    }
    constexpr auto kBytes = static_cast<int64_t>(kPanel * sizeof(typename T::W));
    const int64_t size = k.spans * k.len, step = (kBytes + tiles - 1) / tiles;
    AheadShare share{reinterpret_cast<const char*>(part + size * kPanel), step};
    for (int r = 0; r < rows.count; share.at += size * step) {
      const int n = tile_rows(rows.count, r, T::kTileRows);
      if (position + size == w.spans * w.span_len) ask_for_out(rows, r, n);
      any_tile<T, P, Ahead::kShare>(n, rows.x + r, k, w.span_step, part, panel_step,
                                    sums + r * kPanel, sum_step, first, share);
      r += n;
    }
  });
}

/// Computes tiles of rows times groups [g, end) of P panels.
template <class V, int P>
void tiles_q8(const GemmWeights& w, const GemmRows& rows, int64_t g, int64_t end, PanelBytes b,
              float* sums, AheadShare share) {
  for (int r = 0; r < rows.count; share.at += (end - g) * 8 * share.step) {
    const int n = tile_rows(rows.count, r, V::kTileRows);
    if (end * kGroup == w.padded_k) ask_for_out(rows, r, n);
    any_tile_q8<V, P, Ahead::kShare>(n, rows.x + r, g, end, b, w, sums + r * kPanel,
                                     int64_t{rows.count} * kPanel, g == 0, share);
    r += n;
  }
}

/// Computes P panels for any number of rows. With V::kReady, the weights of a block are made ready
/// once for all tiles.
template <class V, int P>
void some_panels_q8(const GemmWeights& w, const GemmRows& rows, const uint8_t* b, float* sums) {
  const int64_t groups = w.padded_k / kGroup;
  if (rows.count <= V::kTileRows) {
    return any_tile_q8<V, P, Ahead::kStream>(rows.count, rows.x, 0, groups, {b, w.panel_bytes}, w,
                                             sums, int64_t{rows.count} * kPanel, true);
  }
  constexpr int64_t kBlock = V::kReady ? 4 : 8;
  const int64_t tiles = (rows.count + V::kTileRows - 1) / V::kTileRows;
  // A tile prefetches 8 times per group: after every 4 pairs of k.
  const int64_t step = (V::kGroupBytes / 8 + tiles - 1) / tiles;
  for (int64_t g = 0; g < groups; g += kBlock) {
    const int64_t end = g + kBlock < groups ? g + kBlock : groups;
    const uint8_t* part = b + g * V::kGroupBytes;
    const AheadShare share{reinterpret_cast<const char*>(part + (end - g) * V::kGroupBytes), step};
    if constexpr (V::kReady) {
      constexpr int64_t kStep = kBlock * Ready<V>::kGroupBytes;
      alignas(64) uint8_t ready[P * kStep];
      for (int p = 0; p < P; ++p)
        for (int64_t i = 0; i < end - g; ++i)
          make_ready<V>(part + p * w.panel_bytes + i * V::kGroupBytes,
                        ready + p * kStep + i * Ready<V>::kGroupBytes);
      tiles_q8<Ready<V>, P>(w, rows, g, end, {ready, kStep}, sums, share);
    } else {
      tiles_q8<V, P>(w, rows, g, end, {part, w.panel_bytes}, sums, share);
    }
  }
}

template <class T>
void products_of(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                 float* sums) {
  using W = typename T::W;
  const int64_t step = w.panel_bytes / static_cast<int64_t>(sizeof(W));
  const W* b = reinterpret_cast<const W*>(w.data) + panel * step;
  const int64_t sum_step = int64_t{rows.count} * kPanel;
  const KBlock all{0, w.spans, w.span_len};
  int p = 0;
  // With few rows, computing several panels at once keeps the FMA units busy.
  if (rows.count == 1 && count == 4) {
    tile<T, 1, 4, Ahead::kStream>(rows.x, all, w.span_step, b, step, sums, sum_step, true);
    p = 4;
  }
  for (; rows.count <= 2 && p + 2 <= count; p += 2) {
    const W* at = b + p * step;
    float* to = sums + p * sum_step;
    if (rows.count == 1) {
      tile<T, 1, 2, Ahead::kStream>(rows.x, all, w.span_step, at, step, to, sum_step, true);
    } else {
      tile<T, 2, 2, Ahead::kStream>(rows.x, all, w.span_step, at, step, to, sum_step, true);
    }
  }
  if constexpr (T::kTilePanels == 2) {
    for (; p + 2 <= count; p += 2) some_panels<T, 2>(w, rows, b + p * step, sums + p * sum_step);
  }
  for (; p < count; ++p) some_panels<T, 1>(w, rows, b + p * step, sums + p * sum_step);
}

template <class V>
void products_q8(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                 float* sums) {
  const uint8_t* b = w.data + panel * w.panel_bytes;
  const int64_t sum_step = int64_t{rows.count} * kPanel, groups = w.padded_k / kGroup;
  int p = 0;
  if (rows.count == 1 && count == 4) {
    tile_q8<V, 1, 4, Ahead::kStream>(rows.x, 0, groups, {b, w.panel_bytes}, w, sums, sum_step,
                                     true);
    p = 4;
  }
  for (; rows.count <= 2 && p + 2 <= count; p += 2) {
    const PanelBytes at{b + p * w.panel_bytes, w.panel_bytes};
    float* to = sums + p * sum_step;
    if (rows.count == 1) {
      tile_q8<V, 1, 2, Ahead::kStream>(rows.x, 0, groups, at, w, to, sum_step, true);
    } else {
      tile_q8<V, 2, 2, Ahead::kStream>(rows.x, 0, groups, at, w, to, sum_step, true);
    }
  }
  if constexpr (V::kTilePanels == 2) {
    for (; p + 2 <= count; p += 2) {
      some_panels_q8<V, 2>(w, rows, b + p * w.panel_bytes, sums + p * sum_step);
    }
  }
  for (; p < count; ++p) {
    some_panels_q8<V, 1>(w, rows, b + p * w.panel_bytes, sums + p * sum_step);
  }
  if constexpr (V::kGroupScales) return;
  for (int r = 0; r < rows.count; ++r) {
    const typename V::F scale = V::set1(rows.scale[r]);
    for (int q = 0; q < count; ++q) {
      float* to = sums + q * sum_step + r * kPanel;
      for (int v = 0; v < kPanel; v += V::kLanes) V::store(to + v, V::mul(V::load(to + v), scale));
    }
  }
}

template <class V>
void products(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count, float* sums) {
  if (w.type == 0) return products_of<Single<V, float>>(w, rows, panel, count, sums);
  products_of<Single<V, uint16_t>>(w, rows, panel, count, sums);
}

/// Computes x / (1 + e^-x), where e^x has an error of about 2 units in the last place.
template <class V>
inline typename V::F silu(typename V::F x) {
  using F = typename V::F;
  const F one = V::set1(1.0f);
  const F t = V::min(V::max(V::mul(x, V::set1(-1.0f)), V::set1(-87.0f)), V::set1(87.0f));
  const F n = V::round(V::mul(t, V::set1(1.44269504088896341f)));
  F r = V::fma(n, V::set1(-0.693359375f), t);
  r = V::fma(n, V::set1(2.12194440e-4f), r);
  F y = V::set1(1.9875691500e-4f);
  y = V::fma(y, r, V::set1(1.3981999507e-3f));
  y = V::fma(y, r, V::set1(8.3334519073e-3f));
  y = V::fma(y, r, V::set1(4.1665795894e-2f));
  y = V::fma(y, r, V::set1(1.6666665459e-1f));
  y = V::fma(y, r, V::set1(5.0000001201e-1f));
  y = V::fma(V::mul(y, r), r, V::add(r, one));
  return V::div(x, V::fma(y, V::pow2(n), one));
}

template <class V>
void finish(const GemmFinish& f) {
  using F = typename V::F;
  alignas(64) float edge[kPanel];
  for (int r = 0; r < f.rows; ++r) {
    float* const out = f.out[r] + f.column;
    float* const to = f.width == kPanel ? out : edge;
    if (f.add && to == edge) {
      for (int i = 0; i < f.width; ++i) edge[i] = out[i];
    }
    for (int v = 0; v < kPanel; v += V::kLanes) {
      F value = V::load(f.sums + r * kPanel + v);
      if (f.bias) value = V::add(value, V::load(f.bias + v));
      if (f.sums1) {
        F up = V::load(f.sums1 + r * kPanel + v);
        if (f.bias1) up = V::add(up, V::load(f.bias1 + v));
        value = V::mul(silu<V>(value), up);
      }
      if (f.add) value = V::add(V::load(to + v), value);
      V::store(to + v, value);
    }
    if (to == edge) {
      for (int i = 0; i < f.width; ++i) out[i] = edge[i];
    }
  }
}

template <class V>
float quantize(const float* x, int64_t k, int64_t padded_k, int16_t* q) {
  float top = 0;
  const int64_t whole = k / V::kLanes * V::kLanes;
  if (whole > 0) {
    typename V::F m = V::set1(0.0f);
    for (int64_t i = 0; i < whole; i += V::kLanes) {
      const typename V::F v = V::load(x + i);
      m = V::max(m, V::max(v, V::mul(v, V::set1(-1.0f))));
    }
    top = V::largest(m);
  }
  for (int64_t i = whole; i < k; ++i) {
    const float v = x[i] < 0 ? -x[i] : x[i];
    top = v > top ? v : top;
  }
  const float inverse = top > 0 ? 32767.0f / top : 0.0f;
  for (int64_t i = 0; i < whole; i += V::kLanes) {
    V::store_i16(q + i, V::round(V::mul(V::load(x + i), V::set1(inverse))));
  }
  if (whole < k) {
    alignas(64) float rest[V::kLanes] = {};
    alignas(64) int16_t rest_q[V::kLanes];
    for (int64_t i = whole; i < k; ++i) rest[i - whole] = x[i];
    V::store_i16(rest_q, V::round(V::mul(V::load(rest), V::set1(inverse))));
    for (int64_t i = whole; i < k; ++i) q[i] = rest_q[i - whole];
  }
  for (int64_t i = k; i < padded_k; ++i) q[i] = 0;
  return top / 32767.0f;
}

template <class V>
void quantize_groups(const float* x, int64_t k, int64_t padded_k, void* row) {
  using X = typename V::X;
  X* q = static_cast<X*>(row);
  auto* group = reinterpret_cast<GemmGroup*>(q + padded_k);
  for (int64_t g = 0; g < padded_k; g += kGroup, ++group) {
    RoundedBytes<V, kGroup> bytes;
    round_to_bytes(x + g, k - g, bytes);
    for (int i = 0; i < kGroup; ++i) q[g + i] = static_cast<X>(bytes.whole[i]);
    *group = {bytes.unit, -V::kOffset * static_cast<int32_t>(bytes.sum)};
  }
}

/// Rounds to the nearest bf16, ties to even. Stores the result as f32.
template <class V>
void round_to_bf16(const float* x, int64_t count, void* to) {
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    __builtin_memcpy(&bits, x + i, 4);
    // The addition below could change a NaN to a number.
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    bits = (nan ? bits : bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    if (nan) bits |= 0x400000;
    __builtin_memcpy(static_cast<float*>(to) + i, &bits, 4);
  }
}

template <class V>
constexpr GemmKernels kKernels = {products<V>,
                                  products_of<Pairs<V>>,
                                  products_q8<RowScale<V>>,
                                  products_q8<GroupScales<V>>,
                                  products_q4<V>,
                                  finish<V>,
                                  quantize<V>,
                                  quantize_groups<GroupScales<V>>,
                                  quantize_q4<V>,
                                  round_to_bf16<V>,
                                  sizeof(float)};

}  // namespace syrinx::cpu
