// The weights of attention over a cache of 8 bits, for AVX-512. Only for files that are compiled
// for one of its sets.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/q8_weights.h"

namespace syrinx::cpu {
namespace {  // one copy per file: they must not be merged with code for other machines

using F = __m512;

F all(float x) { return _mm512_set1_ps(x); }

/// Converts like _mm512_cvtepi32_ps, for which GCC 12 reports an uninitialised value.
F to_float(__m512i x) { return _mm512_maskz_cvtepi32_ps(0xffff, x); }

/// Computes 2^x for x <= 0 or NaN, by the steps of exp2_of_negative() in simd.h.
F exp2_of_negative(F x) {
  x = _mm512_max_ps(all(-126.f), x);
  const F n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const F r = _mm512_sub_ps(x, n);
  F p = all(9.582851082e-3f);
  p = _mm512_fmadd_ps(p, r, all(5.590642989e-2f));
  p = _mm512_fmadd_ps(p, r, all(2.402409911e-1f));
  p = _mm512_fmadd_ps(p, r, all(6.931241751e-1f));
  p = _mm512_fmadd_ps(p, r, all(1.f));
  return _mm512_scalef_ps(p, n);
}

/// Sums the lanes in the order of simd.h, where two vectors are added first.
float sum(F lanes) {
  const __m256 v = _mm256_add_ps(_mm512_castps512_ps256(lanes), _mm512_extractf32x8_ps(lanes, 1));
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

/// Returns which of the positions [at, at + 16) of the block a row attends to. kAll: all of them.
template <bool kAll>
__mmask16 attended(const Q8Row& row, int at) {
  return kAll ? 0xffff : lanes_within(at, row.low, row.high);
}

/// Returns the largest of the scores x [width] to which the row attends.
template <bool kAll>
float peak(const Q8Block& block, const Q8Row& row, const float* x) {
  F top = all(-__FLT_MAX__);
  for (int j = 0; j < block.width; j += kLanes)
    top = _mm512_mask_max_ps(top, attended<kAll>(row, j), _mm512_load_ps(x + j), top);
  return _mm512_reduce_max_ps(top);
}

/// Returns whether all rows attend to all positions of the block.
template <typename Row>
bool attend_to_all(const Q8Block& block, const Row* rows, int count) {
  for (int i = 0; i < count; ++i)
    if (rows[i].low > 0 || rows[i].high < block.width) return false;
  return true;
}

/// The scales of values as factors of weights, for the positions to which a row attends.
struct ValueScales {
  alignas(64) float factors[Q8Block::kMost];
  float unit;  ///< value of one unit of the weights
};
template <bool kAll>
void scale_values(const Q8Block& block, const Q8Row& row, ValueScales& out) {
  // The bits of the scales: because no scale is negative, bits compare like the numbers.
  __m512i bits = _mm512_setzero_si512();
  for (int j = 0; j < block.width; j += kLanes)
    bits = _mm512_mask_max_epi32(bits, attended<kAll>(row, j), bits,
                                 _mm512_load_si512(block.value_scales + j));
  const int top_bits = _mm512_reduce_max_epi32(bits);
  float top;
  __builtin_memcpy(&top, &top_bits, sizeof top);
  const F f = all(top > 0 ? block.most / top : 0.f);
  for (int j = 0; j < block.width; j += kLanes)
    _mm512_store_ps(out.factors + j, _mm512_mul_ps(_mm512_load_ps(block.value_scales + j), f));
  out.unit = top * (1.f / block.most);
}

/// Writes the weights of scores x, whose largest one is `peak`, to `to` [width].
template <bool kAll, typename Weight>
void weigh(const ValueScales& values, int width, Q8Row& row, float peak, const float* x,
           Weight* to) {
  const float top = peak * row.scale;
  const F scale = all(row.scale), shift = all(-top);
  F mass = _mm512_setzero_ps();
#pragma GCC unroll 2
  for (int j = 0; j < width; j += kLanes) {
    const F w =
        _mm512_maskz_mov_ps(attended<kAll>(row, j),
                            exp2_of_negative(_mm512_fmadd_ps(_mm512_load_ps(x + j), scale, shift)));
    mass = _mm512_add_ps(mass, w);
    const __m512i n = _mm512_cvtps_epi32(_mm512_mul_ps(w, _mm512_load_ps(values.factors + j)));
    if constexpr (sizeof(Weight) == 1) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + j), _mm512_cvtusepi32_epi8(n));
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j), _mm512_cvtsepi32_epi16(n));
    }
  }
  const float higher = top > *row.top ? top : *row.top;
  const F factors =
      exp2_of_negative(_mm512_sub_ps(_mm512_mask_mov_ps(all(top), 1, all(*row.top)), all(higher)));
  row.keep = _mm512_cvtss_f32(factors);
  const float part = _mm512_cvtss_f32(_mm512_permute_ps(factors, 1));
  *row.total = __builtin_fmaf(*row.total, row.keep, sum(mass) * part);
  *row.top = higher;
  row.unit = values.unit * part;
}

/// Writes the weights of all rows: those of row i, whose scores are x[i] [kMost], to to(i) [width].
/// Each step processes all rows, because one row alone would wait for its sums between the steps.
template <bool kAll, typename Row, typename To>
void weigh_all(const Q8Block& block, Row* rows, int count, const float (*x)[Q8Block::kMost],
               To to) {
  float peaks[Q8Block::kMostRows];
  for (int i = 0; i < count; ++i) peaks[i] = peak<kAll>(block, rows[i], x[i]);
  ValueScales values;
  for (int i = 0; i < count; ++i) {
    if (!kAll || i == 0) scale_values<kAll>(block, rows[i], values);
    weigh<kAll>(values, block.width, rows[i], peaks[i], x[i], to(i));
  }
}

}  // namespace
}  // namespace syrinx::cpu
