#include "families/finch/source.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace syrinx::finch {
namespace {

constexpr double kRate = 16000;
constexpr float kMaxGain = 6;  // of the logarithms; a bound against a broken model

/// Uniform in [-1, 1): number `index` of the noise of a step. A 32-bit hash, the same everywhere.
float hash_noise(uint32_t step, uint32_t index) {
  uint32_t n = step * 1024u + index;
  n = (n ^ (n >> 16)) * 0x7FEB352Du;
  n = (n ^ (n >> 15)) * 0x846CA68Bu;
  n ^= n >> 16;
  return static_cast<float>(n >> 8) * (2.0f / (1 << 24)) - 1.0f;
}

}  // namespace

Source::Source() : fft_(kFft), window_(kWindow) {
  for (int i = 0; i < kWindow; ++i) {
    window_[i] =
        static_cast<float>((0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / kWindow)) / 1.5);
  }
}

void Source::add_slot(SourceState& state, float pitch) {
  std::rotate(state.slots.begin(), state.slots.begin() + 1, state.slots.end());
  SourceState::Slot& slot = state.slots.back();
  slot.count = 0;
  if (pitch <= 0) return;
  const double cycles = static_cast<double>(pitch) * kHop / kRate;
  const double end = state.phase + cycles;
  const auto weight = static_cast<float>(0.1 * std::sqrt(kRate / std::max(pitch, 40.f)));
  for (int n = 1; n <= end && slot.count < SourceState::kMaxPulses; ++n) {
    const auto at = static_cast<float>((n - state.phase) / cycles * kHop);
    slot.pulses[slot.count++] = {at, weight};
  }
  state.phase = end - std::floor(end);
}

void Source::pulse_spectrum(const SourceState& state, std::complex<float>* spectrum) const {
  std::fill(spectrum, spectrum + kBins, std::complex<float>(0));
  for (size_t s = 0; s < state.slots.size(); ++s) {
    for (int p = 0; p < state.slots[s].count; ++p) {
      const Pulse& pulse = state.slots[s].pulses[p];
      const double at = pulse.at + static_cast<double>(s) * kHop;
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * at / kWindow);
      const double angle = 2 * std::numbers::pi * at / kFft;
      const double cos = std::cos(angle), sin = -std::sin(angle);
      double re = pulse.weight * hann, im = 0;
      for (int k = 0; k < kBins; ++k) {
        spectrum[k] += std::complex<float>(static_cast<float>(re), static_cast<float>(im));
        const double turned = re * cos - im * sin;
        im = re * sin + im * cos;
        re = turned;
      }
    }
  }
}

void Source::step(SourceState& state, const float* head, float pitch, float* out,
                  std::complex<float>* scratch) const {
  add_slot(state, pitch);
  std::complex<float>* spectrum = scratch + kFft;
  auto* signal = reinterpret_cast<float*>(spectrum + kBins);
  pulse_spectrum(state, spectrum);
  for (int k = 0; k < kBins; ++k) {
    const float gain = std::exp(std::min(head[k], kMaxGain));
    const float phase = head[kBins + k];
    const float hiss = std::exp(std::min(head[2 * kBins + k], kMaxGain));
    const float re = gain * std::cos(phase), im = gain * std::sin(phase);
    const float pulse_re = spectrum[k].real(), pulse_im = spectrum[k].imag();
    spectrum[k] = {re * pulse_re - im * pulse_im + hiss * hash_noise(state.step, k),
                   re * pulse_im + im * pulse_re + hiss * hash_noise(state.step, kBins + k)};
  }
  fft_.inverse(spectrum, signal, scratch);
  for (int i = 0; i < kWindow; ++i) state.overlap[i] += state.gain * signal[i] * window_[i];
  for (int i = 0; i < kHop; ++i) out[i] = std::clamp(state.overlap[i], -1.f, 1.f);
  std::copy(state.overlap.begin() + kHop, state.overlap.end(), state.overlap.begin());
  std::fill(state.overlap.end() - kHop, state.overlap.end(), 0.f);
  ++state.step;
}

}  // namespace syrinx::finch
