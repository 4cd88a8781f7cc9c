// The loops of a step of the source on raw pointers, plain and AVX2, with the same bits.
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

namespace ref {
/// spectrum [bins] pairs = the sum of the pulses. Some are left turned.
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
void shape(const ShapedBins& bins);
}  // namespace ref
namespace avx2 {
void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum);
void shape(const ShapedBins& bins);
}  // namespace avx2

}  // namespace syrinx::finch
