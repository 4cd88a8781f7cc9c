// The loops of a step of the source on raw pointers: plain, and of vectors. Pulses and shapes have
// the same bits everywhere; tones those of AVX2 and NEON, within 1e-6 of the plain ones.
#pragma once

#include <cstdint>

namespace syrinx::finch {

/// The pulses of a window, in order, as numbers that are turned from each bin to the next.
struct PulseTurns {
  static constexpr int kMost = 24;
  int count = 0;
  alignas(32) double re[kMost] = {}, im[kMost] = {}, cos[kMost] = {}, sin[kMost] = {};
};

/// What a bin is made of: spectrum = tone * spectrum + hiss * noise, of bins [begin, end); spectrum
/// and tone in pairs of a real and an imaginary part. The noise is a hash of `step` and the bin.
struct ShapedBins {
  uint32_t step = 0;
  int begin = 0, end = 0;
  const float *tone = nullptr, *hiss = nullptr;
  float* spectrum = nullptr;
};

/// Bounds the logarithms of gains, against a broken model.
constexpr float kMaxGain = 6;

namespace ref {
/// spectrum [bins] pairs = the sum of the pulses. Some are left turned.
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
/// head [3][bins]: how loud, turned by how much, how much hiss -> tone [bins] pairs, hiss [bins].
/// NaN stays NaN.
void tones(const float* head, int bins, float* tone, float* hiss);
/// Runs on the vectors of this processor; the same bits as ref::shape().
void shape(const ShapedBins& bins);
}  // namespace ref
namespace simd {  // AVX2 and FMA, or NEON
/// Runs on the vectors of this processor; the same bits as ref::tones().
void tones(const float* head, int bins, float* tone, float* hiss);
}  // namespace simd
namespace avx2 {
/// Runs on the vectors of this processor; the same bits as ref::pulse_spectrum().
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
void shape(const ShapedBins& bins);
}  // namespace avx2

}  // namespace syrinx::finch
