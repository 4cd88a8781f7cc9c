#include "families/finch/source_loops.h"

#include <algorithm>
#include <cmath>

namespace syrinx::finch::ref {
namespace {

/// Returns value `index` of a step's noise, uniform in [-1, 1). It is a 32-bit hash, equal on all
/// processors.
float hash_noise(uint32_t step, uint32_t index) {
  uint32_t n = step * 1024u + index;
  n = (n ^ (n >> 16)) * 0x7FEB352Du;
  n = (n ^ (n >> 15)) * 0x846CA68Bu;
  n ^= n >> 16;
  return static_cast<float>(n >> 8) * (2.0f / (1 << 24)) - 1.0f;
}

}  // namespace

void pulse_spectrum(PulseTurns& pulses, int bins, float* spectrum) {
  std::fill(spectrum, spectrum + 2 * bins, 0.f);
  for (int p = 0; p < pulses.count; ++p) {
    double &re = pulses.re[p], &im = pulses.im[p];
    const double cos = pulses.cos[p], sin = pulses.sin[p];
    for (int k = 0; k < bins; ++k) {
      spectrum[2 * k] += static_cast<float>(re);
      spectrum[2 * k + 1] += static_cast<float>(im);
      const double turned = re * cos - im * sin;
      im = re * sin + im * cos;
      re = turned;
    }
  }
}

void tones(const float* head, int bins, float* tone, float* hiss) {
  for (int k = 0; k < bins; ++k) {
    const float loud = std::exp(std::min(head[k], kMaxGain)), phase = head[bins + k];
    tone[2 * k] = loud * std::cos(phase);
    tone[2 * k + 1] = loud * std::sin(phase);
    hiss[k] = std::exp(std::min(head[2 * bins + k], kMaxGain));
  }
}

void shape(const ShapedBins& bins) {
  // The noise values of all real parts come first, then those of the imaginary parts.
  const auto all = static_cast<uint32_t>(bins.end);
  for (int k = bins.begin; k < bins.end; ++k) {
    const float re = bins.tone[2 * k], im = bins.tone[2 * k + 1], hiss = bins.hiss[k];
    float* to = bins.spectrum + 2 * k;
    const float pulse_re = to[0], pulse_im = to[1];
    const auto at = static_cast<uint32_t>(k);
    to[0] = re * pulse_re - im * pulse_im + hiss * hash_noise(bins.step, at);
    to[1] = re * pulse_im + im * pulse_re + hiss * hash_noise(bins.step, all + at);
  }
}

}  // namespace syrinx::finch::ref
