// The loops of a source step on raw pointers, as plain code and as vector code. Pulses and shapes
// have the same bits on all processors. Tones have the same bits with AVX2 and NEON, and differ
// from the plain code by at most 1e-6.
#pragma once

#include <cstdint>

namespace syrinx::finch {

/// The pulses of a window, in order, as complex numbers, and each pulse's rotation per bin.
struct PulseTurns {
  static constexpr int kMost = 24;
  int count = 0;
  alignas(32) double re[kMost] = {}, im[kMost] = {}, cos[kMost] = {}, sin[kMost] = {};
};

/// The arguments of shape(): spectrum = tone * spectrum + hiss * noise for bins [begin, end).
/// spectrum and tone are pairs of a real and an imaginary part. The noise is a hash of `step` and
/// the bin.
struct ShapedBins {
  uint32_t step = 0;
  int begin = 0, end = 0;
  const float *tone = nullptr, *hiss = nullptr;
  float* spectrum = nullptr;
};

/// Largest logarithm of a gain, which limits the output of a broken model.
constexpr float kMaxGain = 6;

namespace ref {
/// Sums the pulses into spectrum [bins] (pairs). Also rotates `pulses` from bin to bin.
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
/// Computes tone [bins] (pairs) and hiss [bins] from head [3][bins]: ln gain of the tone, its
/// phase, ln gain of the noise. NaN remains NaN.
void tones(const float* head, int bins, float* tone, float* hiss);
/// Computes what ShapedBins describes. avx2::shape() yields the same bits.
void shape(const ShapedBins& bins);
}  // namespace ref
namespace simd {  // for AVX2 and FMA, or NEON
/// Computes the same as ref::tones() with vectors; AVX2 and NEON yield the same bits.
void tones(const float* head, int bins, float* tone, float* hiss);
}  // namespace simd
namespace avx2 {
/// Computes the same as ref::pulse_spectrum() with vectors, with the same bits.
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
void shape(const ShapedBins& bins);
}  // namespace avx2

}  // namespace syrinx::finch
