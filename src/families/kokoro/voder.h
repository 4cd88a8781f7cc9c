// The part of Kokoro that makes samples from phonemes with durations: pitch and energy, the
// decoder, and iSTFTNet with its harmonic source. A call takes one whole utterance, as AdaIN
// normalises over all of it; the bits do not depend on other utterances. Const after construction;
// shared by threads. F: frames of 25 ms; pitch and energy have 2 F values; H: config.hidden.
// Source: kokoro 0.9.4, kokoro/modules.py (ProsodyPredictor.F0Ntrain) and kokoro/istftnet.py.
//
// The source's random numbers. The authors draw a phase for every harmonic, but their linear
// interpolation never reads it; this code draws no phase. They add noise to every harmonic before a
// weighted sum; here it is one normal number a sample times the length of the weights, which is the
// same signal in distribution (codec/hift_source.h).
#pragma once

#include <span>
#include <vector>

#include "codec/hift_source.h"
#include "families/kokoro/config.h"
#include "families/kokoro/layers.h"
#include "kernels/fft.h"

namespace syrinx::kokoro {

struct VoderJob {
  std::span<const float> features;  ///< [T, 2 H] of ProsodyJob
  std::span<const int32_t> frames;  ///< [T]
  std::span<const float> style;     ///< [2 config.style], a voice's row
  /// [2 F] Hz, replaces the predicted pitch in tests against the original; empty: predict.
  std::span<const float> pitch = {};
};

/// Intermediate results, for comparing with an original.
struct VoderTrace {
  std::vector<float> pitch, energy;  ///< [2 F]
  std::vector<float> source;         ///< [F * hop] excitation
  std::vector<float> spectrum;       ///< [rows, n_fft + 2], before exp and sin
};

/// The decoder from phonemes, pitch and energy to spectra, with its weights.
class Voder {
 public:
  Voder() = default;
  /// Scope: the checkpoint. Takes decoder and parts of predictor.
  Voder(const KokoroConfig& config, const Weights& weights, WeightType type);

  /// Writes the samples, [F * config.hop()]. `noise`: one call per half frame, from 0 on
  /// (HiftNoise).
  void run(StepContext& ctx, const VoderJob& job, const HiftNoise& noise, std::span<float> out,
           VoderTrace* trace = nullptr) const;
  /// Reserves memory in the arena for an utterance of `frames` frames, without touching it.
  /// Otherwise the arena would grow step by step, and the system would clear its pages again for
  /// each longer utterance.
  void reserve(StepContext& ctx, int64_t frames) const;
  size_t bytes() const;

 private:
  struct Stage {
    CroppedConvTranspose up;
    PaddedConv source_in;
    SnakeBlock source;
    std::vector<SnakeBlock> blocks;
  };
  void load_generator(const Weights& weights, WeightType type);
  View curve(StepContext& ctx, std::span<const StyledBlock> blocks, const PaddedConv& last,
             const View& x, const View& style) const;
  View decode(StepContext& ctx, const View& text, const View& pitch, const View& energy,
              const View& style) const;
  View analyse(StepContext& ctx, std::span<const float> source) const;
  View generate(StepContext& ctx, const View& x, const View& style, const View& harmonics) const;
  void synthesise(StepContext& ctx, const View& spectrum, std::span<float> out) const;

  KokoroConfig config_;
  BiLstm shared_;
  std::vector<StyledBlock> pitch_, energy_;
  PaddedConv pitch_out_, energy_out_, pitch_in_, energy_in_, text_in_;
  StyledBlock encode_;
  std::vector<StyledBlock> decode_;
  HiftSource source_;
  std::vector<Stage> stages_;
  PaddedConv last_;
  InverseStft istft_{2, 1};
};

}  // namespace syrinx::kokoro
