// Compiled for the sets of gemm_avx512.cc.
#include "kernels/cpu/pair_tiles.h"
#include "kernels/cpu/q8_weights_avx512.h"

namespace syrinx {
namespace {

struct Fmas : cpu::Bf16Pairs {
  using Number = float;
  template <int M, int N, int64_t kStride>
  static void add(const float* a, const __m512i (&y)[N], __m512 (&c)[M][N]) {
#pragma GCC unroll 2
    for (int half = 1; half >= 0; --half) {
      __m512 numbers[N];
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j)
        numbers[j] =
            _mm512_castsi512_ps(half == 1 ? _mm512_and_si512(y[j], _mm512_set1_epi32(-65536))
                                          : _mm512_slli_epi32(y[j], 16));
#pragma GCC unroll 16
      for (int i = 0; i < M; ++i) {
        const __m512 x = _mm512_set1_ps(a[i * kStride + half]);
#pragma GCC unroll 2
        for (int j = 0; j < N; ++j) c[i][j] = _mm512_fmadd_ps(x, numbers[j], c[i][j]);
      }
    }
  }
};

/// Multiplies the sums by the scales of the keys: x [width].
void scale(const Q8Block& block, const Q8Row& row, float* x) {
  for (int j = 0; j < block.width; j += cpu::kLanes)
    _mm512_store_ps(x + j, _mm512_mul_ps(cpu::to_float(_mm512_loadu_si512(row.sums + j)),
                                         _mm512_load_ps(block.key_scales + j)));
}

}  // namespace

void pair_product_avx512(const PairProduct<float>& p) { cpu::pair_tiles<Fmas>(p); }

void q8_weights_avx512(const Q8Block& block, Q8Row* rows, int count) {
  alignas(64) float x[Q8Block::kMostRows][Q8Block::kMost];
  for (int i = 0; i < count; ++i) scale(block, rows[i], x[i]);
  const auto to = [&](int i) { return rows[i].weights; };
  return cpu::attend_to_all(block, rows, count) ? cpu::weigh_all<true>(block, rows, count, x, to)
                                                : cpu::weigh_all<false>(block, rows, count, x, to);
}

}  // namespace syrinx
