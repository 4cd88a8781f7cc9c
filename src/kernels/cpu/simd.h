// Vectors of 8 floats and the functions on them that kernels share. Include between avx2_begin.h
// and avx2_end.h. Everything is deterministic: fixed polynomials, fixed order of sums.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace syrinx::avx2 {
namespace {  // one copy per file: these must never be merged with code for other machines

#define SYRINX_INLINE inline __attribute__((always_inline))
#define SYRINX_LAMBDA __attribute__((always_inline))

using V8 = __m256;

SYRINX_INLINE V8 load(const float* p) { return _mm256_loadu_ps(p); }
SYRINX_INLINE V8 load(const uint16_t* f16) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(f16)));
}
SYRINX_INLINE V8 load_bf16(const uint16_t* p) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(
      _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
}
SYRINX_INLINE void store(float* p, V8 v) { _mm256_storeu_ps(p, v); }
SYRINX_INLINE V8 all(float x) { return _mm256_set1_ps(x); }
SYRINX_INLINE V8 fma(V8 a, V8 b, V8 c) { return _mm256_fmadd_ps(a, b, c); }
SYRINX_INLINE V8 add(V8 a, V8 b) { return _mm256_add_ps(a, b); }
SYRINX_INLINE V8 sub(V8 a, V8 b) { return _mm256_sub_ps(a, b); }
SYRINX_INLINE V8 mul(V8 a, V8 b) { return _mm256_mul_ps(a, b); }
SYRINX_INLINE V8 div(V8 a, V8 b) { return _mm256_div_ps(a, b); }
SYRINX_INLINE V8 max(V8 a, V8 b) { return _mm256_max_ps(a, b); }
SYRINX_INLINE V8 min(V8 a, V8 b) { return _mm256_min_ps(a, b); }

/// Lanes below n are all ones.
SYRINX_INLINE __m256i lane_mask(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SYRINX_INLINE V8 load_part(const float* p, int64_t n) {
  return _mm256_maskload_ps(p, lane_mask(n));
}
SYRINX_INLINE void store_part(float* p, V8 v, int64_t n) {
  _mm256_maskstore_ps(p, lane_mask(n), v);
}

/// Sum of the lanes, in a fixed order.
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

/// e^x. Relative error < 2e-7; 0 below -87.3 (no denormals), exp(0) is exactly 1, saturates near
/// 3.4e38; NaN stays NaN. Degree 6 after reduction to |r| <= ln2 / 2 (Cephes expf).
SYRINX_INLINE V8 exp(V8 x) {
  const V8 low = all(-87.33654f);
  const V8 alive = _mm256_cmp_ps(x, low, _CMP_NLT_UQ);
  x = max(low, min(all(88.72283f), x));  // second operand wins on NaN
  const V8 n = _mm256_round_ps(mul(x, all(1.44269504088896341f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  V8 r = _mm256_fnmadd_ps(n, all(0.693359375f), x);
  r = _mm256_fnmadd_ps(n, all(-2.12194440e-4f), r);
  V8 p = all(1.9875691500e-4f);
  p = fma(p, r, all(1.3981999507e-3f));
  p = fma(p, r, all(8.3334519073e-3f));
  p = fma(p, r, all(4.1665795894e-2f));
  p = fma(p, r, all(1.6666665459e-1f));
  p = fma(p, r, all(5.0000001201e-1f));
  p = add(fma(p, mul(r, r), r), all(1.f));
  // 2^n in two steps: n reaches 128, which one exponent field cannot hold.
  const __m256i e = _mm256_cvtps_epi32(n);
  const __m256i half = _mm256_srai_epi32(e, 1);
  const __m256i bias = _mm256_set1_epi32(127);
  const V8 a = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  const V8 b =
      _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(e, half), bias), 23));
  return _mm256_and_ps(mul(mul(p, a), b), alive);
}

/// sin(x)^2. Absolute error < 4e-7 for |x| < 8192: reduced by multiples of pi in three parts.
SYRINX_INLINE V8 sin_squared(V8 x) {
  const V8 n = _mm256_round_ps(mul(x, all(0.318309886183790671538f)),
                               _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  V8 r = _mm256_fnmadd_ps(n, all(3.140625f), x);
  r = _mm256_fnmadd_ps(n, all(9.67502593994140625e-4f), r);
  r = _mm256_fnmadd_ps(n, all(1.509957990978376432e-7f), r);
  // |r| <= pi / 2: odd Taylor-minimax polynomial of degree 11.
  const V8 z = mul(r, r);
  V8 p = all(-2.3889859e-08f);
  p = fma(p, z, all(2.7525562e-06f));
  p = fma(p, z, all(-0.00019840874f));
  p = fma(p, z, all(0.0083333310f));
  p = fma(p, z, all(-0.16666667f));
  const V8 s = fma(mul(p, z), r, r);
  return mul(s, s);
}

/// tanh(x) = 1 - 2 / (e^2x + 1), by a polynomial where that would cancel. Error < 3e-7 relative.
SYRINX_INLINE V8 tanh(V8 x) {
  const V8 sign = _mm256_and_ps(x, all(-0.f));
  const V8 a = _mm256_andnot_ps(all(-0.f), x);
  const V8 big = sub(all(1.f), div(all(2.f), add(exp(add(a, a)), all(1.f))));
  const V8 z = mul(x, x);  // Cephes tanhf, |x| < 0.625
  V8 p = all(-5.70498872745e-3f);
  p = fma(p, z, all(2.06390887954e-2f));
  p = fma(p, z, all(-5.37397155531e-2f));
  p = fma(p, z, all(1.33314422036e-1f));
  p = fma(p, z, all(-3.33332819422e-1f));
  const V8 small = fma(mul(p, z), x, x);
  const V8 use_big = _mm256_cmp_ps(a, all(0.625f), _CMP_NLT_UQ);
  return _mm256_blendv_ps(small, _mm256_or_ps(big, sign), use_big);
}

SYRINX_INLINE V8 sigmoid(V8 x) {
  return div(all(1.f), add(all(1.f), exp(_mm256_xor_ps(x, all(-0.f)))));
}

/// erf(x), Abramowitz-Stegun 7.1.26 is too coarse; this is the rational form of Eigen/XLA on the
/// clamped range |x| <= 4. Absolute error < 3e-7.
SYRINX_INLINE V8 erf(V8 x) {
  x = max(all(-4.f), min(all(4.f), x));
  const V8 z = mul(x, x);
  V8 p = all(-2.72614225801306e-10f);
  p = fma(p, z, all(2.77068142495902e-08f));
  p = fma(p, z, all(-2.10102402082508e-06f));
  p = fma(p, z, all(-5.69250639462346e-05f));
  p = fma(p, z, all(-7.34990630326855e-04f));
  p = fma(p, z, all(-2.95459980854025e-03f));
  p = fma(p, z, all(-1.60960333262415e-02f));
  V8 q = all(-1.45660718464996e-05f);
  q = fma(q, z, all(-2.13374055278905e-04f));
  q = fma(q, z, all(-1.68282697438203e-03f));
  q = fma(q, z, all(-7.37332916720468e-03f));
  q = fma(q, z, all(-1.42647390514189e-02f));
  return div(mul(x, p), q);
}

}  // namespace
}  // namespace syrinx::avx2
