// The decoder of VibeVoice's acoustic tokenizer, a sigma-VAE: latent frames to samples, only by
// causal convolutions. A stream has the same bits for any division into chunks, and does not depend
// on the other streams of a call. Const after construction, shared by threads; a state is used by
// one call at a time. Network:
// VibeVoice:vibevoice/modular/modular_vibevoice_tokenizer.py, TokenizerDecoder. D: width of a
// latent frame, hop: samples per frame, T: frames; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/codec_pass.h"
#include "io/json.h"
#include "io/weights.h"
#include "nn/layers.h"

namespace syrinx {

/// Sizes of the decoder. Plain data.
struct SigmaVaeConfig {
  int64_t latent = 64;   ///< D: width of a latent frame
  int64_t filters = 32;  ///< channels of the last stage
  /// number of rows that each stage makes from one row of the previous stage
  std::vector<int64_t> ratios{8, 5, 5, 4, 2, 2};
  std::vector<int64_t> depths{8, 3, 3, 3, 3, 3, 3};  ///< number of blocks in each stage
  int64_t taps = 7, last_taps = 7;
  float norm_eps = 1e-5f;
  bool layer_scale = true;

  int64_t hop() const;  ///< number of samples in a frame
  /// Returns the channels of stage `stage`. Each stage has half the channels of the previous stage.
  int64_t width(size_t stage) const;

  /// Reads the object acoustic_tokenizer_config of config.json. Throws LoadError for a value that
  /// is out of range or unsupported.
  static SigmaVaeConfig load(const Config& config);
};

/// The decoder with its weights.
class SigmaVaeDecoder {
 public:
  SigmaVaeDecoder() = default;
  /// `weights` is the scope of the decoder's tensors. The matrices are stored as `type`.
  SigmaVaeDecoder(const SigmaVaeConfig& config, const Weights& weights, WeightType type);

  CodecState open() const;
  /// Decodes the frames of every job. On a GPU, the samples are ready after synchronize().
  void run(StepContext& ctx, std::span<const LatentJob> jobs) const;
  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return first_.device(); }
  size_t bytes() const;

 private:
  /// A depthwise convolution and a feed-forward network, each after a norm and added to its input.
  struct Block {
    RmsNorm norm, mlp_norm;
    CausalConv1d mixer;
    PackedLinear up, down;
  };
  struct Stage {
    CausalConvTranspose1d raise;  // empty in the first stage
    std::vector<Block> blocks;
  };
  // Limit of frames per pass, over all streams. A frame needs some megabytes of scratch memory.
  static constexpr int64_t kPassFrames = 4;

  Block load_block(const Weights& weights, int64_t width, WeightType type) const;
  View run_pass(StepContext& ctx, std::span<const LatentJob> jobs, CodecPass& pass) const;

  SigmaVaeConfig config_;
  CausalConv1d first_, last_;
  std::vector<Stage> stages_;
};

}  // namespace syrinx
