// The encoder of VoxCPM2's AudioVAE: samples to latent frames (the means, without random noise).
// Encoding a recording whole or piece by piece gives the same bits. Const after construction,
// shared by threads; a stream is used by one call at a time. Networks:
// VoxCPM:src/voxcpm/modules/audiovae/audio_vae_v2.py. D: width of a latent frame, hop: samples per
// frame, T: frames; activations f32 [time, channels].
#pragma once

#include <span>
#include <vector>

#include "codec/audio_vae.h"

namespace syrinx {

class AudioVaeEncoder {
 public:
  /// State of one recording between pieces: the past of each convolution, in the order of the
  /// network.
  struct Stream {
    std::vector<ConvState> convs;
  };
  static constexpr int64_t kPieceFrames = 16;  ///< most frames per call; limits the scratch memory

  /// `weights` is the scope that contains "encoder.". All weights are f32, because the encoder runs
  /// only once for a voice.
  AudioVaeEncoder(const AudioVaeConfig& config, const Weights& weights);

  const AudioVaeConfig& config() const { return config_; }
  Stream open() const;
  /// Encodes the next piece: samples [T * encoder_hop] mono at config().sample_rate, in about [-1,
  /// 1], to latents [T, D]. T is in [1, kPieceFrames].
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<float> latents) const;

  size_t bytes() const;

 private:
  struct Block {
    std::vector<causal::ResidualUnit> units;
    causal::Snake act;
    CausalConv1d down;
  };
  AudioVaeConfig config_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
};

}  // namespace syrinx
