// The signal half of finch's decoder: pulses at the pitch and hashed noise, shaped by spectra, put
// together by overlap-add. Every step of 160 samples adds a window of 480 that starts where the
// step does. Results depend on the stream only, never on how it is cut.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/fft.h"

namespace syrinx::finch {

inline constexpr int kHop = 160, kWindow = 480, kFft = 512, kBins = kFft / 2 + 1;

/// A pulse of the voice: samples from the start of its slot of kHop samples, and its strength.
struct Pulse {
  float at = 0, weight = 0;
};

/// What one stream remembers.
struct SourceState {
  static constexpr int kMaxPulses = 8;
  struct Slot {
    std::array<Pulse, kMaxPulses> pulses;
    int count = 0;
  };
  std::array<Slot, 3> slots;  ///< of the current window, oldest first
  float gain = 1;             ///< of all samples
  double phase = 0;           ///< cycles since the last pulse, in [0, 1)
  uint32_t step = 0;
  std::array<float, kWindow> overlap{};  ///< what later windows still add to
};

class Source {
 public:
  Source();
  /// One step. head [3 * kBins]: ln gain of the pulses, their phase, ln gain of the noise. `pitch`
  /// in Hz, or 0, of the newest slot: samples [2 * kHop, 3 * kHop) of this step's window. Writes
  /// out [kHop]. scratch: kFft + kBins complex numbers and kFft floats behind them.
  void step(SourceState& state, const float* head, float pitch, float* out,
            std::complex<float>* scratch) const;
  /// In complex numbers.
  static constexpr int64_t scratch_size() { return kFft + kBins + kFft / 2 + 1; }

 private:
  static void add_slot(SourceState& state, float pitch);
  void pulse_spectrum(const SourceState& state, std::complex<float>* spectrum) const;

  RealFft fft_;
  std::vector<float> window_;  // [kWindow], of the synthesis
};

}  // namespace syrinx::finch
