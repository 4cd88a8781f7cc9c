// Compiled for the sets of gemm_avx512.cc.
#include "kernels/cpu/pair_tiles.h"
#include "kernels/cpu/q8_weights.h"

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

using F = __m512;

F all(float x) { return _mm512_set1_ps(x); }

/// Returns the upper 8 lanes.
__m256 upper(F x) { return _mm512_extractf32x8_ps(x, 1); }

/// Computes e^x for x <= 0 or NaN, by the steps of exp_of_negative() in simd.h.
F exp_of_negative(F x) {
  const F low = all(-87.33654f);
  const __mmask16 alive = _mm512_cmp_ps_mask(x, low, _CMP_NLT_UQ);
  x = _mm512_max_ps(low, x);
  const F n = _mm512_roundscale_ps(_mm512_mul_ps(x, all(1.44269504088896341f)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  F r = _mm512_fnmadd_ps(n, all(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, all(-2.12194440e-4f), r);
  F p = all(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, all(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, all(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, all(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, all(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, all(5.0000001201e-1f));
  p = _mm512_add_ps(_mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r), all(1.f));
  const __m512i e = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
  return _mm512_maskz_mul_ps(alive, p, _mm512_castsi512_ps(_mm512_slli_epi32(e, 23)));
}

/// Sums the lanes in the order of simd.h.
float sum(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

constexpr int kLanes = 16;

/// Returns which of the positions [at, at + 16) are in [low, high).
__mmask16 lanes_within(int at, int64_t low, int64_t high) {
  const __m512i lane =
      _mm512_add_epi32(_mm512_set1_epi32(at),
                       _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
  return _mm512_cmpge_epi32_mask(lane, _mm512_set1_epi32(static_cast<int>(low))) &
         _mm512_cmplt_epi32_mask(lane, _mm512_set1_epi32(static_cast<int>(high)));
}

/// Computes the scores x [width], and returns the largest one.
float scores(const Q8Block& block, const Q8Row& row, float* x) {
  const F f = all(block.scale), unit = all(row.q_scale);
  F peak = all(*row.top);
  for (int j = 0; j < block.width; j += kLanes) {
    const F scale = _mm512_mul_ps(_mm512_load_ps(block.key_scales + j), unit);
    F s = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(row.sums + j)), scale);
    s = _mm512_mul_ps(s, f);
    if (j < row.low || j + kLanes > row.high)
      s = _mm512_mask_mov_ps(all(-__builtin_inff()), lanes_within(j, row.low, row.high), s);
    _mm512_store_ps(x + j, s);
    peak = _mm512_max_ps(s, peak);
  }
  return _mm512_reduce_max_ps(peak);
}

/// Replaces the scores x by weights times value_scales, and returns the largest magnitude.
float weights(const Q8Block& block, Q8Row& row, float higher, float* x) {
  const F shift = all(higher);
  __m256 mass = _mm256_setzero_ps();
  __m512i top = _mm512_setzero_si512();  // bits of magnitudes, which compare like integers
  for (int j = 0; j < block.width; j += kLanes) {
    const F w = exp_of_negative(_mm512_sub_ps(_mm512_load_ps(x + j), shift));
    mass = _mm256_add_ps(_mm256_add_ps(mass, _mm512_castps512_ps256(w)), upper(w));
    const F v = _mm512_mul_ps(w, _mm512_load_ps(block.value_scales + j));
    _mm512_store_ps(x + j, v);
    const __m512i magnitude =
        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
    top = _mm512_max_epi32(top, magnitude);
  }
  row.keep = _mm512_cvtss_f32(exp_of_negative(all(*row.top - higher)));
  *row.total = _mm_cvtss_f32(
      _mm_fmadd_ss(_mm_set_ss(*row.total), _mm_set_ss(row.keep), _mm_set_ss(sum(mass))));
  *row.top = higher;
  const int bits = _mm512_reduce_max_epi32(top);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  return largest;
}

/// Converts x to integers up to +-32767; `largest` is the largest magnitude.
void to_int16(const Q8Block& block, const float* x, float largest, Q8Row& row) {
  const F inverse = all(largest > 0 ? 32767.f / largest : 0.f);
  for (int j = 0; j < block.width; j += kLanes) {
    const __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_load_ps(x + j), inverse));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(row.weights + j), _mm512_cvtsepi32_epi16(n));
  }
  row.weight_scale = largest * (1.f / 32767);
}

}  // namespace

void pair_product_avx512(const PairProduct<float>& p) { cpu::pair_tiles<Fmas>(p); }

// Each step processes all rows, because one row alone would wait for its sums between the steps.
void q8_weights_avx512(const Q8Block& block, Q8Row* rows, int count) {
  alignas(64) float x[Q8Block::kMostRows][Q8Block::kMost];
  float largest[Q8Block::kMostRows];
  for (int i = 0; i < count; ++i) largest[i] = scores(block, rows[i], x[i]);
  for (int i = 0; i < count; ++i) largest[i] = weights(block, rows[i], largest[i], x[i]);
  for (int i = 0; i < count; ++i) to_int16(block, x[i], largest[i], rows[i]);
}

}  // namespace syrinx
