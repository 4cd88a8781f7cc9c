// The excitation of a neural source-filter vocoder: harmonics of a pitch track, noise, and a
// learned sum of both. Phases are kept in double precision as fractions of a turn, so the length of
// a stream is not limited. A stream cut anywhere has the bits of one whole call.
// Formulas: CosyVoice:cosyvoice/hifigan/generator.py (SineGen, SineGen2, SourceModuleHnNSF).
// Const after construction; a state is used by one call at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "io/weights.h"

namespace syrinx {

/// How a phase changes between two frames of pitch.
enum class SinePhase : uint8_t {
  kInterpolated,  ///< changes linearly between the middles of frames (SineGen2)
  kHeld,          ///< changes at the pitch of a sample's frame (SineGen)
  kStepped,       ///< changes once per frame, before its first sample (SineGen2, causal)
};

/// Parameters of the sines and the noise.
struct HiftSourceConfig {
  int64_t sample_rate = 24000;  ///< Hz
  int64_t hop = 480;            ///< samples a frame of pitch
  int64_t harmonics = 8;        ///< overtones, not counting the fundamental
  float amplitude = 0.1f;       ///< amplitude of each sine
  /// Standard deviation of the noise in voiced samples; it is amplitude / 3 in unvoiced ones.
  float noise = 0.003f;
  float voiced_above = 10;  ///< Hz; a frame with a higher pitch is voiced
  SinePhase phase = SinePhase::kInterpolated;
  /// Whether the noise is uniform in [0, 1), with a number for each tone of a sample (causal
  /// SourceModuleHnNSF), in place of one standard normal number a sample.
  bool uniform_noise = false;

  /// Returns the numbers of noise that a frame takes.
  int64_t noise_numbers() const { return uniform_noise ? hop * (harmonics + 1) : hop; }
};

/// Fills noise_numbers() numbers for frame `frame` of the stream: standard normal ones, or uniform
/// ones by sample, then tone. The original adds noise to every harmonic before their weighted sum.
/// A sum of normal numbers is a normal number, so one number per sample gives the same
/// distribution; a sum of uniform numbers is not a uniform number.
using HiftNoise = FunctionRef<void(int64_t frame, std::span<float>)>;

/// The weights of the harmonics. The state of a signal is in State.
class HiftSource {
 public:
  struct State {
    /// Phase of each harmonic in turns, in [0, 1), at the last frame's middle (kHeld: at its end;
    /// kStepped: in all of it).
    std::vector<double> turns;
    std::vector<double> speed;  ///< turns per sample of each harmonic in the last frame
    std::vector<float> noise;   ///< [noise_numbers()], noise of the last frame
    std::vector<float> offset;  ///< initial phase of each harmonic in turns (kHeld only)
    int64_t frames = 0;
    bool voiced = false;  ///< whether the last frame is voiced
  };

  HiftSource() = default;
  /// `weights` has l_linear.{weight [1, harmonics + 1], bias [1]}.
  HiftSource(const HiftSourceConfig& config, const Weights& weights);

  /// `offset`: initial phases of the overtones, in turns in [-1/2, 1/2), for kHeld only; empty:
  /// zeros.
  State open(std::span<const float> offset = {}) const;
  /// Appends to `out` the samples that become certain with f0 [T] (Hz); `last`: no frames follow.
  void run(std::span<const float> f0, bool last, const HiftNoise& noise, State& state,
           std::vector<float>& out) const;
  /// Returns the samples that are certain after `frames` frames when more may follow.
  int64_t certain(int64_t frames) const;

 private:
  int64_t tones() const { return config_.harmonics + 1; }
  float noise_at(const State& state, int64_t sample) const;
  void emit(State& state, int64_t begin, int64_t end, double from, bool moving,
            std::vector<float>& out) const;

  HiftSourceConfig config_;
  std::vector<float> weight_;
  float bias_ = 0, norm_ = 0;  // norm_: Euclidean length of weight_
};

}  // namespace syrinx
