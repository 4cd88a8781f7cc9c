// The excitation of a neural source-filter vocoder: harmonics of a pitch track and noise, summed
// with learned weights. Phases are fractions of a turn in double precision, so a stream may have
// any length. A stream has the same bits for any division into calls.
// Formulas: CosyVoice:cosyvoice/hifigan/generator.py (SineGen, SineGen2, SourceModuleHnNSF).
// Const after construction; a state is used by one call at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "io/weights.h"

namespace syrinx {

/// How a phase changes between two frames of pitch.
enum class SinePhase : uint8_t {
  kInterpolated,  ///< changes linearly between the middles of frames (SineGen2)
  kHeld,          ///< advances at the pitch of the frame that contains the sample (SineGen)
  kStepped,       ///< changes once per frame, before the frame's first sample (SineGen2, causal)
};

/// Parameters of the sines and the noise.
struct HiftSourceConfig {
  int64_t sample_rate = 24000;  ///< Hz
  int64_t hop = 480;            ///< samples in a frame of pitch
  int64_t harmonics = 8;        ///< number of overtones, without the fundamental
  float amplitude = 0.1f;       ///< amplitude of each sine
  /// Standard deviation of the noise in voiced samples. In unvoiced samples it is amplitude / 3.
  float noise = 0.003f;
  float voiced_above = 10;  ///< Hz; frames with a higher pitch are voiced
  SinePhase phase = SinePhase::kInterpolated;
  /// Whether the noise is uniform in [0, 1), with a number for each tone of each sample (causal
  /// SourceModuleHnNSF). Otherwise it is one standard normal number for each sample.
  bool uniform_noise = false;

  /// Returns how many noise numbers a frame uses.
  int64_t noise_numbers() const { return uniform_noise ? hop * (harmonics + 1) : hop; }
};

/// Writes noise_numbers() numbers for frame `frame` of the stream: standard normal numbers, or
/// uniform numbers ordered by sample, then tone. The original adds noise to every harmonic before
/// their weighted sum. A sum of normal numbers is normal, so one number per sample has the same
/// distribution. A sum of uniform numbers is not uniform, so each tone needs its own number.
using HiftNoise = std::function<void(int64_t frame, std::span<float>)>;

/// The source with the weights of the harmonics. A State holds one signal.
class HiftSource {
 public:
  struct State {
    /// Phase of each harmonic in turns, in [0, 1): at the middle of the last frame, with kHeld at
    /// its end, with kStepped in the whole frame.
    std::vector<double> turns;
    std::vector<double> speed;  ///< turns per sample of each harmonic, in the last frame
    std::vector<float> noise;   ///< [noise_numbers()], noise of the last frame
    std::vector<float> offset;  ///< initial phase of each harmonic in turns; used with kHeld only
    int64_t frames = 0;
    bool voiced = false;  ///< whether the last frame is voiced
  };

  HiftSource() = default;
  /// `weights` contains l_linear.weight [1, harmonics + 1] and l_linear.bias [1].
  HiftSource(const HiftSourceConfig& config, const Weights& weights);

  /// `offset`: initial phase of each tone in turns, in [-1/2, 1/2), the fundamental first. Only for
  /// kHeld. If empty, all phases are 0.
  State open(std::span<const float> offset = {}) const;
  /// Appends to `out` the samples that are final after f0 [T] (Hz). `last`: no frames follow.
  void run(std::span<const float> f0, bool last, const HiftNoise& noise, State& state,
           std::vector<float>& out) const;
  /// Returns how many samples are final after `frames` frames if more frames may follow.
  int64_t certain(int64_t frames) const;

 private:
  int64_t tones() const { return config_.harmonics + 1; }
  float noise_at(const State& state, int64_t sample) const;
  void emit(State& state, int64_t begin, int64_t end, double from, bool moving,
            std::vector<float>& out) const;

  HiftSourceConfig config_;
  std::vector<float> weight_;
  float bias_ = 0, norm_ = 0;  // norm_: the Euclidean length of weight_
};

}  // namespace syrinx
