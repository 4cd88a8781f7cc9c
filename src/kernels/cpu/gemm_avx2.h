// Vectors of AVX2, FMA and F16C for gemm_impl.h. Include it only in files compiled for these sets.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {
namespace {

struct Avx2 {
  static constexpr int kLanes = 8, kUnroll = 4, kTileRows = 6, kTilePanels = 1;
  using F = __m256;
  using I = __m256i;
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, F v) { _mm256_storeu_ps(p, v); }
  static void widen(const uint16_t* p, F (&w)[2]) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    w[0] = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
    w[1] = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(-65536)));
  }
  static F split(const uint16_t* p, bool second) {
    const __m256i both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return _mm256_castsi256_ps(second ? _mm256_and_si256(both, _mm256_set1_epi32(-65536))
                                      : _mm256_slli_epi32(both, 16));
  }
  static F set1(float v) { return _mm256_set1_ps(v); }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F round(F v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static float largest(F v) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  static float sum(F v) {
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  static F pow2(F n) {
    const __m256i e = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(e, 23));
  }
  static I set1_i(int32_t v) { return _mm256_set1_epi32(v); }
  static I pairs(const uint8_t* p) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I set1_pair(const int16_t* p) {
    int both;
    __builtin_memcpy(&both, p, 4);
    return _mm256_set1_epi32(both);
  }
  // Written as assembly, because with intrinsics GCC computes all products of a tile first and
  // spills the sums to memory.
  static void madd(I& c, I a, I b) {
    I product;
    asm volatile("vpmaddwd %[b], %[a], %[p]\n\tvpaddd %[p], %[c], %[c]"
                 : [c] "+x"(c), [p] "=&x"(product)
                 : [a] "x"(a), [b] "x"(b));
  }
  static F to_f(I v) { return _mm256_cvtepi32_ps(v); }
  static void nibbles(const uint8_t* p, I& low, I& high) {
    const I both = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    low = _mm256_and_si256(both, _mm256_set1_epi8(15));
    high = _mm256_and_si256(_mm256_srli_epi16(both, 4), _mm256_set1_epi8(15));
  }
  static I set1_quad(const int8_t* p) {
    int four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
  }
  // Sums of pairs are int16; a sum of 8 pairs is at most 30480. Written as assembly like madd.
  static I dot(I w, I x, I c) {
    I product;
    asm volatile("vpmaddubsw %[x], %[w], %[p]\n\tvpaddw %[p], %[c], %[c]"
                 : [c] "+x"(c), [p] "=&x"(product)
                 : [w] "x"(w), [x] "x"(x));
    return c;
  }
  static I total(I c) { return _mm256_madd_epi16(c, _mm256_set1_epi16(1)); }
  static F f16(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F u8(const uint8_t* p) {
    return to_f(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
  }
  static void store_i16(int16_t* p, F v) {
    const __m256i i = _mm256_cvtps_epi32(v);
    const __m128i s = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), s);
  }
};

}  // namespace
}  // namespace syrinx::cpu
