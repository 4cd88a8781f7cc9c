// Compiled for AVX512-BF16 and for the sets of gemm_avx512.cc.
#include "kernels/cpu/avx512bf16.h"
#include "kernels/cpu/pair_tiles.h"

namespace syrinx {
namespace {

struct Dots : cpu::Bf16Pairs {
  using Number = uint16_t;
  template <int M, int N, int64_t kStride>
  static void add(const uint16_t* a, const __m512i (&y)[N], __m512 (&c)[M][N]) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const __m512bh x = cpu::all_pairs(a + i * kStride);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j)
        c[i][j] = _mm512_dpbf16_ps(c[i][j], x, reinterpret_cast<__m512bh>(y[j]));
    }
  }
};

}  // namespace

void pair_product_avx512bf16(const PairProduct<uint16_t>& p) { cpu::pair_tiles<Dots>(p); }

}  // namespace syrinx
