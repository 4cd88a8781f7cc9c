// The part of Kokoro that makes samples from phonemes with durations: pitch and energy, the
// decoder, and iSTFTNet with its harmonic source. A call takes one whole utterance, because AdaIN
// normalises over all of it; bits do not depend on other utterances. Const; shared by threads. F:
// frames of 25 ms; pitch and energy have 2 F values; H: config.hidden. Source: kokoro 0.9.4,
// kokoro/modules.py (ProsodyPredictor.F0Ntrain) and kokoro/istftnet.py.
//
// Random numbers of the source: the authors draw a phase for every harmonic, but their linear
// interpolation never reads it, so this code draws no phase. They add noise to every harmonic
// before a weighted sum. Here it is one normal number per sample, times the weight vector's norm,
// which has the same distribution (codec/hift_source.h).
#pragma once

#include <span>
#include <vector>

#include "codec/hift_source.h"
#include "families/kokoro/config.h"
#include "families/kokoro/layers.h"
#include "kernels/fft.h"

namespace syrinx::kokoro {

struct VoderJob {
  std::span<const float> features;  ///< [T, 2 H], ProsodyJob::features
  std::span<const int32_t> frames;  ///< [T], ProsodyJob::frames
  std::span<const float> style;     ///< [2 config.style], a voice's row
  /// Pitch [2 F] in Hz, used instead of the predicted one when tests compare with the original.
  std::span<const float> pitch = {};
  int64_t rise = -1;  ///< frame from which the pitch rises to the end; -1: as predicted
};

/// Intermediate results, for comparison with the original code.
struct VoderTrace {
  std::vector<float> pitch, energy;  ///< [2 F]
  std::vector<float> source;         ///< [F * hop], the excitation
  std::vector<float> spectrum;       ///< [rows, n_fft + 2], before exp and sin
};

/// The decoder from phonemes, pitch and energy to spectra, with its weights.
class Voder {
 public:
  Voder() = default;
  /// Loads decoder and parts of predictor from a checkpoint.
  Voder(const KokoroConfig& config, const Weights& weights, WeightType type);

  /// Writes the samples [F * config.hop()] to out. `noise` is called once per half frame, from 0 on
  /// (HiftNoise).
  void run(StepContext& ctx, const VoderJob& job, const HiftNoise& noise, std::span<float> out,
           VoderTrace* trace = nullptr) const;
  /// Moves the decoder and iSTFTNet to a GPU; the context of run() must then be of the GPU. Pitch
  /// and energy stay on the CPU, because every later phase depends on the pitch; so do the LSTM and
  /// the Fourier transforms, which are little work.
  void move_to(Device device);
  Device device() const { return last_.device(); }
  /// Reserves memory in the arena for an utterance of `frames` frames, without writing to it.
  /// Otherwise the arena would grow in steps, and the system would clear its pages again for each
  /// longer utterance.
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
