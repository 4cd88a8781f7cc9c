// Vectors of AVX-512 F, BW, VL, DQ for gemm_impl.h. Include it only in files compiled for these.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {
namespace {

struct Avx512 {
  static constexpr int kLanes = 16, kUnroll = 4, kTileRows = 8, kTilePanels = 2;
  using F = __m512;
  using I = __m512i;
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static void widen(const uint16_t* p, F (&w)[1]) {
    // Number 2i of p (bf16) goes to the upper half of lane i, number 2i + 1 to that of lane i + 8.
    const __m512i from = _mm512_set_epi16(15, 0, 13, 0, 11, 0, 9, 0, 7, 0, 5, 0, 3, 0, 1, 0,  //
                                          14, 0, 12, 0, 10, 0, 8, 0, 6, 0, 4, 0, 2, 0, 0, 0);
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    w[0] = _mm512_castsi512_ps(
        _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, from, _mm512_castsi256_si512(both)));
  }
  static F split(const uint16_t* p, bool second) {
    const __m512i both = _mm512_loadu_si512(p);
    return _mm512_castsi512_ps(second ? _mm512_and_si512(both, _mm512_set1_epi32(-65536))
                                      : _mm512_slli_epi32(both, 16));
  }
  static F set1(float v) { return _mm512_set1_ps(v); }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F round(F v) {
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static float largest(F v) { return _mm512_reduce_max_ps(v); }
  static float sum(F v) { return _mm512_reduce_add_ps(v); }
  static F pow2(F n) {
    const __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(e, 23));
  }
  static I set1_i(int32_t v) { return _mm512_set1_epi32(v); }
  static I pairs(const uint8_t* p) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static I set1_pair(const int16_t* p) {
    int both;
    __builtin_memcpy(&both, p, 4);
    return _mm512_set1_epi32(both);
  }
  static void madd(I& c, I a, I b) { c = _mm512_add_epi32(c, _mm512_madd_epi16(a, b)); }
  static F to_f(I v) { return _mm512_cvtepi32_ps(v); }
  static void nibbles(const uint8_t* p, I& low, I& high) {
    const I both = _mm512_loadu_si512(p);
    low = _mm512_and_si512(both, _mm512_set1_epi8(15));
    high = _mm512_and_si512(_mm512_srli_epi16(both, 4), _mm512_set1_epi8(15));
  }
  static I set1_quad(const int8_t* p) {
    int four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  static I dot(I w, I x, I c) { return _mm512_add_epi16(c, _mm512_maddubs_epi16(w, x)); }
  static I total(I c) { return _mm512_madd_epi16(c, _mm512_set1_epi16(1)); }
  static F f16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F u8(const uint8_t* p) {
    return to_f(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static void store_i16(int16_t* p, F v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtsepi32_epi16(_mm512_cvtps_epi32(v)));
  }
};

}  // namespace
}  // namespace syrinx::cpu
