// Vectors of 8 floats, and functions on them for several kernels, with the same bits on AVX2 and
// NEON. Include it between simd_begin.h and simd_end.h. Results are deterministic: polynomials and
// the order of sums are fixed.
//
// simd_avx2.h and simd_neon.h define: V8 (8 floats), I8 (8 int32), Mask, and for them
//   load (f32; f16, which are uint16_t; int32), load_bf16, store, store_f16 (to nearest even);
//   load_part, store_part of the first n lanes (zeros in the others); all, all_int, first (lane);
//   add, sub, mul, div, fma (a b + c), fnma (c - a b), each rounded once; round (to nearest even);
// max, min: b unless a is larger (smaller); therefore b if one of the two is NaN;
//   sign (only the sign bit), magnitude, with_sign (of a magnitude), negative;
//   sum, largest (of the lanes, in a fixed order);
//   less, more, at_least: false for NaN; not_less: true for NaN; both; keep (zero in other lanes),
//   select; lanes_of (a bit per lane); first_lanes; lanes_within (lanes with low <= at + lane <
//   high); to_int (nearest even), to_float, half (downwards), pow2 (2^n, must be normal);
//   magnitude_bits (in the order of magnitudes, NaN above all), largest_bits (their largest as a
//   float); store_int16, store_int8 (nearest even, saturating);
//   Pair (all_pair: two int16 for all lanes), Pairs (load_pairs: two int8 for each lane),
//   add_products: c + their products, exactly; to_bf16 (rounded to bf16: to nearest even; NaN stays
//   NaN), store_bf16, FloatPairs (load_bf16_pairs: two numbers for each lane).
#pragma once

#include <cstdint>

namespace syrinx::simd {
namespace {  // one copy per file: they must not be merged with code for other machines

#define SYRINX_INLINE inline __attribute__((always_inline))
#define SYRINX_LAMBDA __attribute__((always_inline))

#if defined(__aarch64__)
#include "kernels/cpu/simd_neon.h"
#else
#include "kernels/cpu/simd_avx2.h"
#endif

/// Returns e^(x - n ln2) for the n of the power 2^n nearest to e^x. Degree 6 after reduction to |r|
/// <= ln2 / 2 (Cephes expf).
SYRINX_INLINE V8 exp_rest(V8 x, V8& n) {
  n = round(mul(x, all(1.44269504088896341f)));
  V8 r = fnma(n, all(0.693359375f), x);
  r = fnma(n, all(-2.12194440e-4f), r);
  V8 p = all(1.9875691500e-4f);
  p = fma(p, r, all(1.3981999507e-3f));
  p = fma(p, r, all(8.3334519073e-3f));
  p = fma(p, r, all(4.1665795894e-2f));
  p = fma(p, r, all(1.6666665459e-1f));
  p = fma(p, r, all(5.0000001201e-1f));
  return add(fma(p, mul(r, r), r), all(1.f));
}

/// Computes e^x. Relative error < 2e-7; 0 below -87.3 (no denormals), exp(0) is exactly 1,
/// saturates near 3.4e38; NaN stays NaN.
SYRINX_INLINE V8 exp(V8 x) {
  const V8 low = all(-87.33654f);
  const Mask alive = not_less(x, low);
  V8 n;
  const V8 p = exp_rest(max(low, min(all(88.72283f), x)), n);  // min and max return a NaN x
  // Multiplies by 2^n in two steps: n may be 128, which one exponent cannot express.
  const I8 e = to_int(n), low_half = half(e);
  return keep(alive, mul(mul(p, pow2(low_half)), pow2(sub(e, low_half))));
}

/// Computes exp(x) for x <= 0 or NaN, in fewer steps.
SYRINX_INLINE V8 exp_of_negative(V8 x) {
  const V8 low = all(-87.33654f);
  const Mask alive = not_less(x, low);
  V8 n;
  const V8 p = exp_rest(max(low, x), n);
  return keep(alive, mul(p, pow2(to_int(n))));
}

/// Computes 2^x for x <= 0 or NaN; relative error < 3e-6, 2^-126 below -126.
SYRINX_INLINE V8 exp2_of_negative(V8 x) {
  x = max(all(-126.f), x);
  const V8 n = round(x), r = sub(x, n);
  V8 p = all(9.582851082e-3f);
  p = fma(p, r, all(5.590642989e-2f));
  p = fma(p, r, all(2.402409911e-1f));
  p = fma(p, r, all(6.931241751e-1f));
  p = fma(p, r, all(1.f));
  return mul(p, pow2(to_int(n)));
}

/// Returns the largest |x|; NaN if one of the numbers is NaN. The bits of magnitudes compare like
/// integers, and NaN has the largest bits.
SYRINX_INLINE float largest_magnitude(const float* x, int count) {
  I8 top = all_int(0);
  for (int i = 0; i < count; i += 8) top = max(top, magnitude_bits(load(x + i)));
  return largest_bits(top);
}

/// Converts x to integers up to +-127 in units of the returned number. A NaN in x makes the unit
/// NaN. count % 8 == 0.
SYRINX_INLINE float to_int8(const float* x, int count, int8_t* out) {
  const float top = largest_magnitude(x, count);
  const V8 f = all(top > 0 ? 127.f / top : 0.f);
  for (int i = 0; i < count; i += 8) store_int8(out + i, mul(load(x + i), f));
  return top * (1.f / 127);
}

/// Computes sin(x - n pi) for multiples n of 1/2 with |x - n pi| <= pi / 2; n pi is subtracted in
/// three parts. Absolute error < 2e-7 for |x| < 8192.
SYRINX_INLINE V8 sine_behind(V8 x, V8 n) {
  V8 r = fnma(n, all(3.140625f), x);
  r = fnma(n, all(9.67502593994140625e-4f), r);
  r = fnma(n, all(1.509957990978376432e-7f), r);
  const V8 z = mul(r, r);  // odd Taylor-minimax polynomial of degree 11
  V8 p = all(-2.3889859e-08f);
  p = fma(p, z, all(2.7525562e-06f));
  p = fma(p, z, all(-0.00019840874f));
  p = fma(p, z, all(0.0083333310f));
  p = fma(p, z, all(-0.16666667f));
  return fma(mul(p, z), r, r);
}

/// Computes sin(x)^2. Absolute error < 4e-7 for |x| < 8192.
SYRINX_INLINE V8 sin_squared(V8 x) {
  const V8 s = sine_behind(x, round(mul(x, all(0.318309886183790671538f))));
  return mul(s, s);
}

/// Computes (-1)^n for whole n.
SYRINX_INLINE V8 alternating(V8 n) {
  const V8 half = mul(n, all(0.5f));
  return fnma(all(4.f), magnitude(sub(half, round(half))), all(1.f));
}

/// Computes sin(x); cos() computes cos(x). Absolute errors < 2e-7 for |x| < 8192.
SYRINX_INLINE V8 sin(V8 x) {
  const V8 n = round(mul(x, all(0.318309886183790671538f)));
  return mul(alternating(n), sine_behind(x, n));
}
SYRINX_INLINE V8 cos(V8 x) {  // sin(x + pi / 2)
  const V8 n = round(fma(x, all(0.318309886183790671538f), all(0.5f)));
  return mul(alternating(n), sine_behind(x, sub(n, all(0.5f))));
}

/// Computes tanh(x) = 1 - 2 / (e^2x + 1), or a polynomial where this would cancel. Relative error <
/// 3e-7.
SYRINX_INLINE V8 tanh(V8 x) {
  const V8 a = magnitude(x);
  const V8 big = sub(all(1.f), div(all(2.f), add(exp(add(a, a)), all(1.f))));
  const V8 z = mul(x, x);  // Cephes tanhf, |x| < 0.625
  V8 p = all(-5.70498872745e-3f);
  p = fma(p, z, all(2.06390887954e-2f));
  p = fma(p, z, all(-5.37397155531e-2f));
  p = fma(p, z, all(1.33314422036e-1f));
  p = fma(p, z, all(-3.33332819422e-1f));
  const V8 small = fma(mul(p, z), x, x);
  return select(not_less(a, all(0.625f)), with_sign(big, sign(x)), small);
}

/// Computes 1 / (1 + exp(-x)) of each number.
SYRINX_INLINE V8 sigmoid(V8 x) { return div(all(1.f), add(all(1.f), exp(negative(x)))); }

/// Computes erf(x) by the rational form of Eigen and XLA on the clamped range |x| <= 4.
/// (Abramowitz-Stegun 7.1.26 is too inaccurate.) Absolute error < 3e-7.
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
}  // namespace syrinx::simd
