#include "families/finch/source.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cpu_features.h"

namespace syrinx::finch {
namespace {

/// The fastest loops that this processor supports.
struct SourceLoops {
  void (*pulse_spectrum)(PulseTurns&, int, float*) = &ref::pulse_spectrum;
  void (*tones)(const float*, int, float*, float*) = &ref::tones;
  void (*shape)(const ShapedBins&) = &ref::shape;
};

SourceLoops source_loops() {
#if defined(__x86_64__)
  if (cpu_features().avx2) return {&avx2::pulse_spectrum, &simd::tones, &avx2::shape};
#elif defined(__aarch64__)
  return {.tones = &simd::tones};
#endif
  return {};
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

PulseTurns Source::pulses_of(const SourceState& state) const {
  PulseTurns pulses;
  for (size_t s = 0; s < state.slots.size(); ++s) {
    for (int p = 0; p < state.slots[s].count; ++p) {
      const Pulse& pulse = state.slots[s].pulses[p];
      const double at = pulse.at + static_cast<double>(s) * shape_.hop;
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * at / shape_.window);
      const double angle = 2 * std::numbers::pi * at / shape_.fft;
      pulses.re[pulses.count] = pulse.weight * hann;
      pulses.cos[pulses.count] = std::cos(angle);
      pulses.sin[pulses.count++] = -std::sin(angle);
    }
  }
  return pulses;
}

void Source::step(SourceState& state, const float* head, float pitch, float gain, float* out,
                  std::complex<float>* scratch) const {
  add_slot(state, pitch);
  const int bins = shape_.bins(), hop = shape_.hop;
  std::complex<float>* spectrum = scratch + shape_.fft;
  auto* signal = reinterpret_cast<float*>(spectrum + bins);
  PulseTurns pulses = pulses_of(state);
  auto* tone = reinterpret_cast<float*>(scratch);
  ShapedBins shaped{state.step, 0, bins, tone, tone + 2 * bins, reinterpret_cast<float*>(spectrum)};
  const SourceLoops loops = source_loops();
  loops.pulse_spectrum(pulses, bins, shaped.spectrum);
  loops.tones(head, bins, tone, tone + 2 * bins);
  loops.shape(shaped);
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
