// Compiled for the sets of gemm_avx512.cc.
#include "kernels/cpu/pair_tiles.h"

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

}  // namespace

void pair_product_avx512(const PairProduct<float>& p) { cpu::pair_tiles<Fmas>(p); }

}  // namespace syrinx
