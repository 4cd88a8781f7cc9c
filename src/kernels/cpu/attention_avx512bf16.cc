// Compiled for AVX512-BF16 and for the sets of gemm_avx512.cc.
#include "kernels/cpu/avx512bf16.h"
#include "kernels/cpu/pair_product.h"

namespace syrinx {
namespace {

/// Computes M rows and 16 N columns, of which the last vector has only the lanes of `mask`.
template <int M, int N>
[[gnu::noinline]] void tile(const PairProduct& p, int64_t row, int64_t column, __mmask16 mask) {
  float* const to = p.c + row * p.c_stride + column;
  const uint16_t* const a = p.a + row * p.a_stride;
  const uint16_t* b = p.b + 2 * column;
  const auto lanes = [&](int j) { return j == N - 1 ? mask : static_cast<__mmask16>(0xffff); };
  __m512 c[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      c[i][j] = p.add ? _mm512_maskz_loadu_ps(lanes(j), to + i * p.c_stride + 16 * j)
                      : _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < p.depth; ++k, b += p.b_stride) {
    __m512bh y[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      y[j] = reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi32(lanes(j), b + 32 * j));
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const __m512bh x = cpu::all_pairs(a + i * p.a_stride + 2 * k);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) c[i][j] = _mm512_dpbf16_ps(c[i][j], x, y[j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      _mm512_mask_storeu_ps(to + i * p.c_stride + 16 * j, lanes(j), c[i][j]);
  }
}

template <int N>
void some_columns(const PairProduct& p, int64_t column, __mmask16 mask) {
  int row = 0;
  for (; row + 12 <= p.rows; row += 12) tile<12, N>(p, row, column, mask);
  for (; row + 4 <= p.rows; row += 4) tile<4, N>(p, row, column, mask);
  for (; row < p.rows; ++row) tile<1, N>(p, row, column, mask);
}

}  // namespace

void pair_product_avx512bf16(const PairProduct& p) {
  int64_t column = 0;
  for (; column + 32 <= p.columns; column += 32) some_columns<2>(p, column, 0xffff);
  for (; column < p.columns; column += 16)
    some_columns<1>(p, column, p.columns - column >= 16 ? 0xffff : 0xff);
}

}  // namespace syrinx
