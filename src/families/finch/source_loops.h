// The loops of a source step on raw pointers: plain code, and vector code. Pulses and shapes have
// the same bits on all processors. Tones have the same bits with AVX2 and NEON, and are within 1e-6
// of the plain code's.
#pragma once

#include <cstdint>

namespace syrinx::finch {

/// The pulses of a window, in order, as complex numbers, and the rotation of each per bin.
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

/// Limit of the logarithms of gains, in case a model is broken.
constexpr float kMaxGain = 6;

namespace ref {
/// Sums the pulses into spectrum [bins] (pairs). Rotates `pulses` to a later bin.
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
/// Computes tone [bins] (pairs) and hiss [bins] from head [3][bins]: ln gain of the tone, its
/// phase, ln gain of the noise. NaN stays NaN.
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
