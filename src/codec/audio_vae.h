// The decoder of VoxCPM2's AudioVAE: latent frames to samples (audio_vae_encoder.h is the way
// back).
// The decoder is causal and keeps the past that it needs in a state. A stream has the same bits
// however it is cut into chunks. Its samples do not depend on the other streams of a call. Const
// after construction, shared by threads; a state is used by one call at a time. Networks:
// VoxCPM:src/voxcpm/modules/audiovae/audio_vae_v2.py. D numbers a latent frame, hop samples a
// frame, T frames; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/causal_layers.h"
#include "io/json.h"

namespace syrinx {

/// Sizes, as published unless a config says otherwise. Plain data.
struct AudioVaeConfig {
  int64_t latent = 64;             ///< D
  int64_t encoder_channels = 128;  ///< channels at first; doubled by every block
  std::vector<int64_t> encoder_rates{2, 5, 8, 8};
  int64_t sample_rate = 16000;      ///< Hz, of the encoder's input
  int64_t decoder_channels = 2048;  ///< channels at first; halved by every block
  std::vector<int64_t> decoder_rates{8, 6, 5, 2, 2, 2};
  int64_t out_sample_rate = 48000;  ///< Hz, of the decoder's output
  /// Bounds between the sample rates that the decoder was trained for; empty: one rate only.
  std::vector<int64_t> rate_bounds{20000, 30000, 40000};

  int64_t encoder_hop() const;  ///< samples that the encoder turns into one frame
  int64_t decoder_hop() const;  ///< samples that the decoder makes of one frame
  /// Returns the index of the trained rate that the output has: the number of bounds below it.
  int64_t rate_index() const;

  /// Reads the object audio_vae_config of config.json. Throws LoadError for a value that is out of
  /// range or not supported.
  static AudioVaeConfig load(const Config& config);
};

/// Returns the scope that has the tensors in audiovae.pth: its root, or "state_dict".
Weights audio_vae_scope(const Weights& root);

/// State of one stream between calls: the past of every convolution.
class AudioVaeState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class AudioVaeDecoder;
  int64_t frames_ = 0;            // frames decoded so far
  std::vector<ConvState> convs_;  // in the order of the network
};

/// Input and output of one stream in a call.
struct AudioVaeJob {
  AudioVaeState* state = nullptr;
  std::span<const float> latents;  ///< [T, D]
  std::span<float> out;            ///< [T * decoder_hop], written; in [-1, 1]
};

/// Latents to samples.
class AudioVaeDecoder {
 public:
  /// `weights` is the scope that holds "decoder."; `type` is the storage type of the matrices.
  AudioVaeDecoder(const AudioVaeConfig& config, const Weights& weights,
                  WeightType type = WeightType::kF32);

  const AudioVaeConfig& config() const { return config_; }
  AudioVaeState open() const;
  void run(StepContext& ctx, std::span<const AudioVaeJob> jobs) const;

  size_t bytes() const;
  /// Returns the memory of one open stream in bytes.
  size_t state_bytes() const;

 private:
  struct Block {
    Tensor scale, bias;  // [C], learned for the output's rate; empty: same at all rates
    causal::Snake act;
    CausalConvTranspose1d up;
    std::vector<causal::ResidualUnit> units;
  };
  // Frames of all streams in one pass; bounds the scratch memory (some megabytes a frame).
  static constexpr int64_t kPassFrames = 8;

  void run_pass(StepContext& ctx, std::span<const AudioVaeJob> jobs,
                std::span<const PassPart> parts) const;

  AudioVaeConfig config_;
  CausalConv1d head_, tail_;
  PackedLinear spread_;  // after the depthwise first convolution
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
