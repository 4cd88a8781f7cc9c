// Compiled for AVX512-VNNI and for the sets of gemm_avx512.cc.
#include "kernels/cpu/pair_tiles.h"

namespace syrinx {
namespace {

/// Pairs of int8, widened to int16.
struct Words {
  using Number = int16_t;
  using V = __m512i;
  static V sums(__m512i bits) { return bits; }
  static __m512i bits(V sums) { return sums; }
  static __m512i pairs(__mmask16 mask, const int8_t* b) {
    return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi16(mask, b));
  }
  template <int M, int N, int64_t kStride>
  static void add(const int16_t* a, const __m512i (&y)[N], V (&c)[M][N]) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      int pair;
      __builtin_memcpy(&pair, a + i * kStride, sizeof pair);
      const __m512i x = _mm512_set1_epi32(pair);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        // Not the intrinsic, because GCC 12 then copies the sums to memory and back.
        asm("vpdpwssd %2, %1, %0" : "+v"(c[i][j]) : "v"(x), "v"(y[j]));
      }
    }
  }
};

}  // namespace

void pair_product_avx512vnni(const PairProduct<int16_t>& p) { cpu::pair_tiles<Words>(p); }

}  // namespace syrinx
