// Compiled for AVX-VNNI and for the sets of gemm_avx2.cc, for processors that have dot products but
// not AVX-512. gemm_avx512vnni.cc explains the instructions.
#include "kernels/cpu/gemm_avx2.h"

namespace syrinx::cpu {
namespace {

struct Words : RowScale<Avx2> {
  static void madd(I& c, I a, I b) { c = _mm256_dpwssd_avx_epi32(c, a, b); }
};

struct Bytes : GroupScales<Avx2> {
  static constexpr int kPairs = 2, kOffset = 128;
  using X = int8_t;
  /// Loads the weights of 8 outputs for four k; each output's four weights become adjacent bytes.
  static I pairs(const uint8_t* p) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2 * kPanel));
    const I both =
        _mm256_set_m128i(_mm_unpackhi_epi16(first, second), _mm_unpacklo_epi16(first, second));
    return _mm256_xor_si256(both, _mm256_set1_epi8(-128));
  }
  static I set1_pair(const int8_t* p) {
    int four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
  }
  static void madd(I& c, I a, I b) { c = _mm256_dpbusd_avx_epi32(c, b, a); }
};

struct Nibbles : Avx2 {
  static I dot(I w, I x, I c) { return _mm256_dpbusd_avx_epi32(c, w, x); }
  static I total(I c) { return c; }
};

}  // namespace

void use_avxvnni(GemmKernels& kernels) {
  kernels.products_q8 = products_q8<Words>;
  kernels.products_q8a8 = products_q8<Bytes>;
  kernels.products_q4 = products_q4<Nibbles>;
  kernels.quantize_groups = quantize_groups<Bytes>;
}

}  // namespace syrinx::cpu
