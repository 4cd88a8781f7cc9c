// The vectors of simd.h for AVX2, FMA and F16C. Only simd.h includes it.
#pragma once

using V8 = __m256;     // 8 floats
using I8 = __m256i;    // 8 int32
using Mask = __m256;   // each lane is all ones or all zeros
using Pair = __m256i;  // two int16 in all lanes
using Pairs = __m256i;

SYRINX_INLINE V8 load(const float* p) { return _mm256_loadu_ps(p); }
SYRINX_INLINE V8 load(const uint16_t* f16) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(f16)));
}
SYRINX_INLINE V8 load_bf16(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(
      _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
SYRINX_INLINE void store(float* p, V8 v) { _mm256_storeu_ps(p, v); }
SYRINX_INLINE void store_f16(uint16_t* p, V8 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
SYRINX_INLINE float first(V8 v) { return _mm256_cvtss_f32(v); }
SYRINX_INLINE V8 all(float x) { return _mm256_set1_ps(x); }
SYRINX_INLINE V8 fma(V8 a, V8 b, V8 c) { return _mm256_fmadd_ps(a, b, c); }
SYRINX_INLINE V8 fnma(V8 a, V8 b, V8 c) { return _mm256_fnmadd_ps(a, b, c); }
SYRINX_INLINE V8 add(V8 a, V8 b) { return _mm256_add_ps(a, b); }
SYRINX_INLINE V8 sub(V8 a, V8 b) { return _mm256_sub_ps(a, b); }
SYRINX_INLINE V8 mul(V8 a, V8 b) { return _mm256_mul_ps(a, b); }
SYRINX_INLINE V8 div(V8 a, V8 b) { return _mm256_div_ps(a, b); }
SYRINX_INLINE V8 max(V8 a, V8 b) { return _mm256_max_ps(a, b); }
SYRINX_INLINE V8 min(V8 a, V8 b) { return _mm256_min_ps(a, b); }
SYRINX_INLINE V8 round(V8 x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SYRINX_INLINE V8 sign(V8 x) { return _mm256_and_ps(x, all(-0.f)); }
SYRINX_INLINE V8 magnitude(V8 x) { return _mm256_andnot_ps(all(-0.f), x); }
SYRINX_INLINE V8 with_sign(V8 magnitude, V8 sign) { return _mm256_or_ps(magnitude, sign); }
SYRINX_INLINE V8 negative(V8 x) { return _mm256_xor_ps(x, all(-0.f)); }
SYRINX_INLINE float sum(V8 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
SYRINX_INLINE float largest(V8 v) {
  __m128 s = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_max_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

SYRINX_INLINE Mask less(V8 a, V8 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
SYRINX_INLINE Mask more(V8 a, V8 b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
SYRINX_INLINE Mask at_least(V8 a, V8 b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
SYRINX_INLINE Mask not_less(V8 a, V8 b) { return _mm256_cmp_ps(a, b, _CMP_NLT_UQ); }
SYRINX_INLINE Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
SYRINX_INLINE V8 keep(Mask mask, V8 v) { return _mm256_and_ps(v, mask); }
SYRINX_INLINE V8 select(Mask mask, V8 yes, V8 no) { return _mm256_blendv_ps(no, yes, mask); }
SYRINX_INLINE int lanes_of(Mask mask) { return _mm256_movemask_ps(mask); }
SYRINX_INLINE Mask lanes_within(int64_t at, int64_t low, int64_t high) {
  const I8 lane = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(at)),
                                   _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  return _mm256_castsi256_ps(
      _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(static_cast<int>(low) - 1)),
                       _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(high)), lane)));
}
SYRINX_INLINE I8 lane_mask(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SYRINX_INLINE Mask first_lanes(int64_t n) { return _mm256_castsi256_ps(lane_mask(n)); }
SYRINX_INLINE V8 load_part(const float* p, int64_t n) {
  return _mm256_maskload_ps(p, lane_mask(n));
}
SYRINX_INLINE void store_part(float* p, V8 v, int64_t n) {
  _mm256_maskstore_ps(p, lane_mask(n), v);
}

SYRINX_INLINE I8 load(const int32_t* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
SYRINX_INLINE void store(int32_t* p, I8 v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}
SYRINX_INLINE I8 all_int(int x) { return _mm256_set1_epi32(x); }
SYRINX_INLINE I8 sub(I8 a, I8 b) { return _mm256_sub_epi32(a, b); }
SYRINX_INLINE I8 max(I8 a, I8 b) { return _mm256_max_epi32(a, b); }
SYRINX_INLINE I8 half(I8 a) { return _mm256_srai_epi32(a, 1); }
SYRINX_INLINE I8 to_int(V8 v) { return _mm256_cvtps_epi32(v); }
SYRINX_INLINE V8 to_float(I8 v) { return _mm256_cvtepi32_ps(v); }
SYRINX_INLINE I8 magnitude_bits(V8 x) {
  return _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
}
SYRINX_INLINE float largest_bits(I8 v) {
  __m128i s = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  s = _mm_max_epi32(s, _mm_shuffle_epi32(s, 0xb1));
  return _mm_cvtss_f32(_mm_castsi128_ps(s));
}
SYRINX_INLINE V8 pow2(I8 n) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
}
SYRINX_INLINE __m128i as_int16(V8 v) {
  const I8 n = to_int(v);
  return _mm_packs_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
}
SYRINX_INLINE void store_int16(int16_t* p, V8 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), as_int16(v));
}
SYRINX_INLINE void store_int8(int8_t* p, V8 v) {
  const __m128i h = as_int16(v);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(h, h));
}

SYRINX_INLINE Pair all_pair(const int16_t* p) {
  int32_t pair;
  __builtin_memcpy(&pair, p, 4);
  return _mm256_set1_epi32(pair);
}
SYRINX_INLINE Pairs load_pairs(const char* p) {
  return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
SYRINX_INLINE I8 add_products(Pair x, Pairs y, I8 c) {
  return _mm256_add_epi32(c, _mm256_madd_epi16(x, y));
}

SYRINX_INLINE V8 to_bf16(V8 v) {
  const I8 bits = _mm256_castps_si256(v);
  const I8 odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), all_int(1));
  const I8 out = _mm256_add_epi32(bits, _mm256_add_epi32(odd, all_int(0x7fff)));
  // The addition could change a NaN to a number.
  const I8 nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const I8 upper = _mm256_blendv_epi8(out, _mm256_or_si256(bits, all_int(0x400000)), nan);
  return _mm256_castsi256_ps(_mm256_and_si256(upper, all_int(-65536)));
}
SYRINX_INLINE void store_bf16(uint16_t* p, V8 v) {
  const I8 out = _mm256_srli_epi32(_mm256_castps_si256(to_bf16(v)), 16);
  const __m128i low = _mm256_castsi256_si128(out), high = _mm256_extracti128_si256(out, 1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_packus_epi32(low, high));
}
struct FloatPairs {
  V8 first, second;
};
SYRINX_INLINE FloatPairs float_pairs(I8 both) {
  return {_mm256_castsi256_ps(_mm256_slli_epi32(both, 16)),
          _mm256_castsi256_ps(_mm256_and_si256(both, all_int(-65536)))};
}
SYRINX_INLINE FloatPairs load_bf16_pairs(const uint16_t* p) {
  return float_pairs(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
