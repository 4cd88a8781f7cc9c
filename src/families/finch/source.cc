#include "families/finch/source.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace syrinx::finch {
namespace {

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

Source::Source(const SourceShape& shape)
    : shape_(shape), fft_(shape.fft), window_(static_cast<size_t>(shape.window)) {
  for (int i = 0; i < shape.window; ++i) {
    window_[i] =
        static_cast<float>((0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / shape.window)) / 1.5);
  }
}

void Source::add_slot(SourceState& state, float pitch) const {
  std::rotate(state.slots.begin(), state.slots.begin() + 1, state.slots.end());
  SourceState::Slot& slot = state.slots.back();
  slot.count = 0;
  if (pitch <= 0) return;
  const double cycles = static_cast<double>(pitch) * shape_.hop / shape_.rate;
  const double end = state.phase + cycles;
  const auto weight =
      static_cast<float>(0.1 * std::sqrt(shape_.rate / std::max(double{pitch}, 40.0)));
  for (int n = 1; n <= end && slot.count < SourceState::kMaxPulses; ++n) {
    const auto at = static_cast<float>((n - state.phase) / cycles * shape_.hop);
    slot.pulses[slot.count++] = {at, weight};
  }
  state.phase = end - std::floor(end);
}

void Source::pulse_spectrum(const SourceState& state, std::complex<float>* spectrum) const {
  const int bins = shape_.bins();
  std::fill(spectrum, spectrum + bins, std::complex<float>(0));
  // Each bin is the one before it turned: a chain, so four pulses go side by side.
  constexpr int kSide = 4;
  std::array<double, kSide> re = {}, im = {}, cos = {}, sin = {};
  int waiting = 0;
  const auto add = [&] {
    for (int k = 0; k < bins; ++k) {
      float sum_re = spectrum[k].real(), sum_im = spectrum[k].imag();
      for (int p = 0; p < waiting; ++p) {
        sum_re += static_cast<float>(re[p]);
        sum_im += static_cast<float>(im[p]);
      }
      spectrum[k] = {sum_re, sum_im};
      for (int p = 0; p < kSide; ++p) {
        const double turned = re[p] * cos[p] - im[p] * sin[p];
        im[p] = re[p] * sin[p] + im[p] * cos[p];
        re[p] = turned;
      }
    }
    waiting = 0;
  };
  for (size_t s = 0; s < state.slots.size(); ++s) {
    for (int p = 0; p < state.slots[s].count; ++p) {
      const Pulse& pulse = state.slots[s].pulses[p];
      const double at = pulse.at + static_cast<double>(s) * shape_.hop;
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * at / shape_.window);
      const double angle = 2 * std::numbers::pi * at / shape_.fft;
      re[waiting] = pulse.weight * hann;
      im[waiting] = 0;
      cos[waiting] = std::cos(angle);
      sin[waiting] = -std::sin(angle);
      if (++waiting == kSide) add();
    }
  }
  if (waiting > 0) add();
}

void Source::step(SourceState& state, const float* head, float pitch, float gain, float* out,
                  std::complex<float>* scratch) const {
  add_slot(state, pitch);
  const int bins = shape_.bins(), hop = shape_.hop;
  std::complex<float>* spectrum = scratch + shape_.fft;
  auto* signal = reinterpret_cast<float*>(spectrum + bins);
  pulse_spectrum(state, spectrum);
  for (int k = 0; k < bins; ++k) {
    const float tone = std::exp(std::min(head[k], kMaxGain));
    const float phase = head[bins + k];
    const float hiss = std::exp(std::min(head[2 * bins + k], kMaxGain));
    const float re = tone * std::cos(phase), im = tone * std::sin(phase);
    const float pulse_re = spectrum[k].real(), pulse_im = spectrum[k].imag();
    spectrum[k] = {re * pulse_re - im * pulse_im + hiss * hash_noise(state.step, k),
                   re * pulse_im + im * pulse_re + hiss * hash_noise(state.step, bins + k)};
  }
  fft_.inverse(spectrum, signal, scratch);
  const float all = state.gain * gain;
  for (int i = 0; i < shape_.window; ++i) state.overlap[i] += all * signal[i] * window_[i];
  for (int i = 0; i < hop; ++i) out[i] = std::clamp(state.overlap[i], -1.f, 1.f);
  const auto end = state.overlap.begin() + shape_.window;
  std::copy(state.overlap.begin() + hop, end, state.overlap.begin());
  std::fill(end - hop, end, 0.f);
  ++state.step;
}

}  // namespace syrinx::finch
