// The tiles of a PairProduct for AVX-512. Only for files that are compiled for one of its sets.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/pair_product.h"

namespace syrinx::cpu {

/// Computes M rows and 16 N columns of C, of which the last vector has only the lanes of `mask`.
/// T defines the arithmetic: `V` is a vector of 16 sums of C. `sums` makes a V from 512 bits of
/// memory, and `bits` is its inverse. `pairs` loads 16 pairs of B. `add` multiplies one pair of
/// each of M rows of A by N vectors of pairs, and adds the products to M x N vectors of sums.
template <typename T, int M, int N>
[[gnu::noinline]] void pair_tile(const PairProduct<typename T::Number>& p, int64_t row,
                                 int64_t column, __mmask16 mask) {
  constexpr int64_t kStride = PairProduct<typename T::Number>::kAStride;
  auto* const to = p.c + row * p.c_stride + column;
  const typename T::Number* a = p.a + row * kStride;
  const auto* b = p.b + 2 * column;
  const auto lanes = [&](int j) { return j == N - 1 ? mask : static_cast<__mmask16>(0xffff); };
  typename T::V c[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      c[i][j] = T::sums(p.add ? _mm512_maskz_loadu_epi32(lanes(j), to + i * p.c_stride + 16 * j)
                              : _mm512_setzero_si512());
  }
  for (int64_t k = 0; k < p.depth; ++k, a += 2, b += p.b_stride) {
    __m512i y[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) y[j] = T::pairs(lanes(j), b + 32 * j);
    T::template add<M, N, kStride>(a, y, c);
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      _mm512_mask_storeu_epi32(to + i * p.c_stride + 16 * j, lanes(j), T::bits(c[i][j]));
  }
}

template <typename T, int N>
void pair_columns(const PairProduct<typename T::Number>& p, int64_t column, __mmask16 mask) {
  int row = 0;
  for (; row + 12 <= p.rows; row += 12) pair_tile<T, 12, N>(p, row, column, mask);
  for (; row + 4 <= p.rows; row += 4) pair_tile<T, 4, N>(p, row, column, mask);
  for (; row < p.rows; ++row) pair_tile<T, 1, N>(p, row, column, mask);
}

/// Pairs of bf16, whose sums are f32.
struct Bf16Pairs {
  using V = __m512;
  static V sums(__m512i bits) { return _mm512_castsi512_ps(bits); }
  static __m512i bits(V sums) { return _mm512_castps_si512(sums); }
  static __m512i pairs(__mmask16 mask, const uint16_t* b) {
    return _mm512_maskz_loadu_epi32(mask, b);
  }
};

/// Computes a product of any size.
template <typename T>
void pair_tiles(const PairProduct<typename T::Number>& p) {
  int64_t column = 0;
  for (; column + 32 <= p.columns; column += 32) pair_columns<T, 2>(p, column, 0xffff);
  for (; column < p.columns; column += 16)
    pair_columns<T, 1>(p, column, p.columns - column >= 16 ? 0xffff : 0xff);
}

}  // namespace syrinx::cpu
