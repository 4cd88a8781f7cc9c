// The excitation of a neural source-filter vocoder: harmonics of a pitch track, noise, and a
// learned sum of both. Phases are kept in double precision as fractions of a turn, so a stream may
// last for ever, and a stream cut anywhere gives the bits of one whole call.
// Formulas: CosyVoice:cosyvoice/hifigan/generator.py (SineGen, SineGen2, SourceModuleHnNSF).
// Const after construction; a state is used by one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "io/weights.h"

namespace syrinx {

/// How a phase runs between two frames of pitch.
enum class SinePhase : uint8_t {
  kInterpolated,  ///< summed once a frame, a straight line between the middles of frames (SineGen2)
  kHeld,          ///< every sample of a frame turns by the frame's pitch (SineGen)
};

/// Parameters of the sines and the noise.
struct HiftSourceConfig {
  int64_t sample_rate = 24000;  ///< Hz
  int64_t hop = 480;            ///< samples a frame of pitch
  int64_t harmonics = 8;        ///< overtones beside the fundamental
  float amplitude = 0.1f;       ///< of each sine
  float noise = 0.003f;         ///< standard deviation beside voice; amplitude / 3 without voice
  float voiced_above = 10;      ///< Hz
  SinePhase phase = SinePhase::kInterpolated;
};

/// Fills 480 (hop) standard normal numbers for frame `frame` of the stream. The original adds noise
/// to every harmonic before their weighted sum; a sum of normal numbers is one normal number, so
/// one a sample gives the same signal.
using HiftNoise = FunctionRef<void(int64_t frame, std::span<float>)>;

/// The harmonics' weights; the signal's state lies in State.
class HiftSource {
 public:
  struct State {
    std::vector<double> turns;  ///< of each harmonic at the last frame's middle (end, if held), < 1
    std::vector<double> speed;  ///< turns a sample of the last frame
    std::vector<float> noise;   ///< [hop] of the last frame
    std::vector<float> offset;  ///< turns that each harmonic began at (kHeld only)
    int64_t frames = 0;
    bool voiced = false;  ///< the last frame
  };

  HiftSource() = default;
  /// Scope: l_linear.{weight [1, harmonics + 1], bias [1]}.
  HiftSource(const HiftSourceConfig& config, const Weights& weights);

  /// `offset`: turns in [-1/2, 1/2) where the overtones begin, kHeld only; empty: zero.
  State open(std::span<const float> offset = {}) const;
  /// Appends to `out` the samples that f0 [T] Hz makes certain; `last`: nothing follows.
  void run(std::span<const float> f0, bool last, const HiftNoise& noise, State& state,
           std::vector<float>& out) const;
  /// Samples that are certain once `frames` frames have come in and more may follow.
  int64_t certain(int64_t frames) const;

 private:
  int64_t tones() const { return config_.harmonics + 1; }
  void emit(State& state, int64_t begin, int64_t end, double from, bool moving,
            std::vector<float>& out) const;

  HiftSourceConfig config_;
  std::vector<float> weight_;
  float bias_ = 0, norm_ = 0;  // norm_: length of weight_
};

}  // namespace syrinx
