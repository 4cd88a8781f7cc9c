// The decoder of VoxCPM2's AudioVAE: latent frames to samples (audio_vae_encoder.h has
// the encoder). The decoder is causal and keeps the past that it needs in a state. A
// stream has the same bits for any division into chunks, and does not depend on the other
// streams of a call. Const after construction, shared by threads; a state is used by one
// call at a time. Network: VoxCPM:src/voxcpm/modules/audiovae/audio_vae_v2.py. D: width
// of a latent frame, hop: samples per frame, T: number of frames; activations f32 [time,
// channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/causal_layers.h"
#include "codec/codec_pass.h"
#include "io/json.h"

namespace syrinx {

/// Sizes of the network; the defaults are those of the published model. Plain data.
struct AudioVaeConfig {
  int64_t latent = 64;             ///< D: width of a latent frame
  int64_t encoder_channels = 128;  ///< channels of the first layer; every block doubles them
  std::vector<int64_t> encoder_rates{2, 5, 8, 8};
  int64_t sample_rate = 16000;      ///< Hz, sample rate of the encoder's input
  int64_t decoder_channels = 2048;  ///< channels of the first layer; every block halves them
  std::vector<int64_t> decoder_rates{8, 6, 5, 2, 2, 2};
  int64_t out_sample_rate = 48000;  ///< Hz, sample rate of the decoder's output
  /// Bounds between the sample rates of the decoder's training. Empty if it has only one rate.
  std::vector<int64_t> rate_bounds{20000, 30000, 40000};

  int64_t encoder_hop() const;  ///< samples that the encoder converts to one frame
  int64_t decoder_hop() const;  ///< samples that the decoder makes from one frame
  /// Returns the index of the output rate among the trained rates: the number of bounds below it.
  int64_t rate_index() const;

  /// Reads the object audio_vae_config of config.json. Throws LoadError for a value that is out of
  /// range or unsupported.
  static AudioVaeConfig load(const Config& config);
};

/// Returns the scope of audiovae.pth that has the tensors: its root, or "state_dict".
Weights audio_vae_scope(const Weights& root);

/// Converts latent frames to samples.
class AudioVaeDecoder {
 public:
  /// `weights` is the scope that contains "decoder."; the matrices are stored as `type`.
  AudioVaeDecoder(const AudioVaeConfig& config, const Weights& weights,
                  WeightType type = WeightType::kF32);

  const AudioVaeConfig& config() const { return config_; }
  CodecState open() const;
  /// Decodes the frames of every job to samples in [-1, 1]. On a GPU, the samples are ready after
  /// synchronize().
  void run(StepContext& ctx, std::span<const LatentJob> jobs) const;
  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;

 private:
  struct Block {
    // [C], for the output's sample rate: x becomes x + x * gain + bias. Empty if all rates use the
    // same.
    Tensor gain, bias;
    causal::Raise raise;
  };
  // Limit of frames per pass, over all streams. A frame needs some megabytes of scratch memory.
  static constexpr int64_t kPassFrames = 8;

  View run_pass(StepContext& ctx, std::span<const LatentJob> jobs, CodecPass& pass) const;

  AudioVaeConfig config_;
  CausalConv1d head_, tail_;
  PackedLinear spread_;  // the linear after the depthwise first convolution
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
