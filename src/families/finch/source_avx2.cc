#include "families/finch/source_loops.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
// clang-format on

namespace syrinx::finch::avx2 {
namespace {

/// Returns 8 values of ref's hash_noise, beginning at `index`.
inline __m256 noise_of(uint32_t step, int index) {
  const __m256i first = _mm256_set1_epi32(static_cast<int>(step * 1024u) + index);
  __m256i n = _mm256_add_epi32(first, _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0));
  n = _mm256_xor_si256(n, _mm256_srli_epi32(n, 16));
  n = _mm256_mullo_epi32(n, _mm256_set1_epi32(0x7FEB352D));
  n = _mm256_xor_si256(n, _mm256_srli_epi32(n, 15));
  n = _mm256_mullo_epi32(n, _mm256_set1_epi32(static_cast<int>(0x846CA68Bu)));
  n = _mm256_xor_si256(n, _mm256_srli_epi32(n, 16));
  const __m256 whole = _mm256_cvtepi32_ps(_mm256_srli_epi32(n, 8));
  return _mm256_sub_ps(_mm256_mul_ps(whole, _mm256_set1_ps(2.0f / (1 << 24))),
                       _mm256_set1_ps(1.0f));
}

/// Computes four bins: spectrum = tone * spectrum + hiss.
inline void shape_four(const float* tone, __m256 hiss, float* spectrum) {
  const __m256 t = _mm256_loadu_ps(tone), s = _mm256_loadu_ps(spectrum);
  const __m256 by_re = _mm256_mul_ps(_mm256_moveldup_ps(t), s);
  const __m256 by_im = _mm256_mul_ps(_mm256_movehdup_ps(t), _mm256_permute_ps(s, 0xb1));
  _mm256_storeu_ps(spectrum, _mm256_add_ps(_mm256_addsub_ps(by_re, by_im), hiss));
}

struct Four {
  __m256d re, im, cos, sin;

  void turn() {
    const __m256d turned = _mm256_sub_pd(_mm256_mul_pd(re, cos), _mm256_mul_pd(im, sin));
    im = _mm256_add_pd(_mm256_mul_pd(re, sin), _mm256_mul_pd(im, cos));
    re = turned;
  }
};

/// Adds the values of each bin's vector to the bin's sum, one pulse after the other.
inline __m128 add_each(__m128 sum, __m128 bin0, __m128 bin1, __m128 bin2, __m128 bin3) {
  _MM_TRANSPOSE4_PS(bin0, bin1, bin2, bin3);  // afterwards each vector belongs to one pulse
  return _mm_add_ps(_mm_add_ps(_mm_add_ps(_mm_add_ps(sum, bin0), bin1), bin2), bin3);
}

/// Adds four bins of `spectrum`, and rotates the pulses to the bin after them.
template <int kFours>
inline void add_four_bins(Four (&fours)[kFours], float* spectrum) {
  const __m128 a = _mm_loadu_ps(spectrum), b = _mm_loadu_ps(spectrum + 4);
  __m128 re = _mm_shuffle_ps(a, b, 0x88), im = _mm_shuffle_ps(a, b, 0xdd);
  __m128 res[kFours][4], ims[kFours][4];
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
#pragma GCC unroll 2
    for (int f = 0; f < kFours; ++f) {
      res[f][k] = _mm256_cvtpd_ps(fours[f].re);
      ims[f][k] = _mm256_cvtpd_ps(fours[f].im);
      fours[f].turn();
    }
  }
#pragma GCC unroll 2
  for (int f = 0; f < kFours; ++f) {
    re = add_each(re, res[f][0], res[f][1], res[f][2], res[f][3]);
    im = add_each(im, ims[f][0], ims[f][1], ims[f][2], ims[f][3]);
  }
  _mm_storeu_ps(spectrum, _mm_unpacklo_ps(re, im));
  _mm_storeu_ps(spectrum + 4, _mm_unpackhi_ps(re, im));
}

/// Adds pulses [first, first + 4 kFours). Entries after the last pulse must be zeros.
template <int kFours>
void add_pulses(const PulseTurns& pulses, int first, int bins, float* spectrum) {
  Four fours[kFours];
  for (int f = 0; f < kFours; ++f) {
    const int at = first + 4 * f;
    fours[f] = {_mm256_load_pd(pulses.re + at), _mm256_load_pd(pulses.im + at),
                _mm256_load_pd(pulses.cos + at), _mm256_load_pd(pulses.sin + at)};
  }
  int k = 0;
  for (; k + 4 <= bins; k += 4) add_four_bins(fours, spectrum + 2 * k);
  if (k == bins) return;
  float rest[8] = {};
  for (int i = 0; i < 2 * (bins - k); ++i) rest[i] = spectrum[2 * k + i];
  add_four_bins(fours, rest);
  for (int i = 0; i < 2 * (bins - k); ++i) spectrum[2 * k + i] = rest[i];
}

}  // namespace

void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum) {
  for (int i = 0; i < 2 * bins; ++i) spectrum[i] = 0;
  // Processes eight pulses at a time, because each pulse is a chain of dependent products.
  for (int p = 0; p < pulses.count; p += 8) {
    if (p + 4 < pulses.count) {
      add_pulses<2>(pulses, p, bins, spectrum);
    } else {
      add_pulses<1>(pulses, p, bins, spectrum);
    }
  }
}

void shape(const ShapedBins& bins) {
  int k = bins.begin;
  for (; k + 8 <= bins.end; k += 8) {
    const __m256 hiss = _mm256_loadu_ps(bins.hiss + k);
    const __m256 re = _mm256_mul_ps(hiss, noise_of(bins.step, k));
    const __m256 im = _mm256_mul_ps(hiss, noise_of(bins.step, bins.end + k));
    const __m256 low = _mm256_unpacklo_ps(re, im), high = _mm256_unpackhi_ps(re, im);
    shape_four(bins.tone + 2 * k, _mm256_permute2f128_ps(low, high, 0x20), bins.spectrum + 2 * k);
    shape_four(bins.tone + 2 * k + 8, _mm256_permute2f128_ps(low, high, 0x31),
               bins.spectrum + 2 * k + 8);
  }
  ShapedBins rest = bins;
  rest.begin = k;
  ref::shape(rest);
}

}  // namespace syrinx::finch::avx2

#include "kernels/cpu/simd_end.h"
