// The decoder of Fish Audio's codec: frames of Q codes to samples. The whole decoder is causal; a
// state keeps everything that later frames of a stream need. A stream has the same bits for any
// division into chunks, and does not depend on the other streams of a call. Const after
// construction, shared by threads; a state is used by one call at a time. Networks:
// fish-speech:fish_speech/models/dac/{modded_dac,rvq}.py. Q codebooks, hop samples a frame, T
// frames; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/causal_layers.h"
#include "codec/codec_pass.h"
#include "codec/fish_codec_config.h"
#include "nn/convnext.h"

namespace syrinx {

/// The quantizers, the transformer and the decoder, with their weights.
class FishCodec {
 public:
  /// `weights` is the scope that contains "quantizer." and "decoder."; the matrices are stored as
  /// `type`.
  FishCodec(const FishCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const FishCodecConfig& config() const { return config_; }
  CodecState open() const;
  /// Decodes codes of 0 or more to samples in [-1, 1]. Codes that are too large count as the
  /// largest valid code. On a GPU, the samples are ready after synchronize().
  void run(StepContext& ctx, std::span<const CodecJob> jobs) const;
  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return head_.device(); }

  size_t bytes() const;

 private:
  struct Upsample {
    CausalConvTranspose1d up;
    ConvNeXt mix;
  };
  // Limit of frames per pass, over all streams. A frame needs some megabytes of scratch memory.
  static constexpr int64_t kPassFrames = 4;

  void load_quantizer(const Weights& weights, WeightType type);
  void load_decoder(const Weights& weights, WeightType type);
  /// Returns the latents [frames, latent] of the codes.
  View dequantise(StepContext& ctx, std::span<const CodecJob> jobs, const CodecPass& pass) const;
  View run_pass(StepContext& ctx, std::span<const CodecJob> jobs, CodecPass& pass) const;

  FishCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim], in host memory
  PackedLinear project_;           // the out_proj of all codebooks, concatenated: [latent, Q * dim]
  StreamDecoder transformer_;
  std::vector<Upsample> upsample_;
  CausalConv1d head_, tail_;
  std::vector<causal::Raise> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
