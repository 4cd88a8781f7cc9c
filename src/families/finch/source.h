// The signal part of finch's decoder: pulses at the pitch and hashed noise, shaped by spectra and
// joined by overlap-add. Every step of 10 ms adds a window of 30 ms that begins with the step.
// Results depend only on the stream, not on how it is cut into chunks.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "families/finch/source_loops.h"
#include "kernels/fft.h"

namespace syrinx::finch {

inline constexpr int kStepsASecond = 100;

/// Sizes, in samples, of a step, of its window and of the transform: 160, 480 and 512 at 16 kHz;
/// 240, 720 and 768 at 24 kHz.
struct SourceShape {
  static constexpr int kMaxHop = 240;
  explicit SourceShape(int sample_rate)
      : rate(sample_rate), hop(rate / kStepsASecond), window(3 * hop), fft(hop / 5 * 16) {}
  int rate, hop, window, fft;
  int bins() const { return fft / 2 + 1; }
};

/// A pulse of the voice: its time, in samples since the start of its slot (a step), and strength.
struct Pulse {
  float at = 0, weight = 0;
};

/// The state of one stream between calls.
struct SourceState {
  static constexpr int kMaxPulses = 8;
  struct Slot {
    std::array<Pulse, kMaxPulses> pulses;
    int count = 0;
  };
  std::array<Slot, 3> slots;  ///< slots of the current window, oldest first
  float gain = 1;             ///< factor of all samples
  double phase = 0;           ///< cycles since the last pulse, in [0, 1)
  uint32_t step = 0;
  std::array<float, 3 * SourceShape::kMaxHop> overlap{};  ///< samples to which later windows add
};

/// Computes the signal of a stream from its state and the decoder's output.
class Source {
 public:
  explicit Source(const SourceShape& shape);
  /// Computes one step and writes out [hop]. head [3 * bins]: ln gain of the pulses, their phase,
  /// ln gain of the noise. `pitch`: in Hz, of samples [2 * hop, 3 * hop) of this step's window;
  /// 0: unvoiced. `gain`: factor of this step. scratch: fft + bins complex numbers, then fft
  /// floats.
  void step(SourceState& state, const float* head, float pitch, float gain, float* out,
            std::complex<float>* scratch) const;
  /// Returns the size of the scratch memory, counted in complex numbers.
  int64_t scratch_size() const { return shape_.fft + 2 * int64_t{shape_.bins()}; }
  const SourceShape& shape() const { return shape_; }

 private:
  void add_slot(SourceState& state, float pitch) const;
  PulseTurns pulses_of(const SourceState& state) const;

  SourceShape shape_;
  RealFft fft_;
  std::vector<float> window_;  // window of the overlap-add
};

}  // namespace syrinx::finch
