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
#include "codec/fish_codec_config.h"
#include "nn/convnext.h"
#include "nn/stream_decoder.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// State of one stream between calls: the past of every convolution, and the keys and values of the
/// last window.
class FishCodecState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class FishCodec;
  int64_t frames_ = 0;  // frames decoded so far
  StreamKv kv_;
  std::vector<ConvState> convs_;  // in the order of the network
};

/// Input and output of one stream in one call.
struct FishCodecJob {
  FishCodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], >= 0; larger codes count as the largest valid code
  std::span<float> out;            ///< [T * hop], output; values in [-1, 1]
};

/// The quantizers, the transformer and the decoder, with their weights.
class FishCodec {
 public:
  /// `weights` is the scope that contains "quantizer." and "decoder."; the matrices are stored as
  /// `type`.
  FishCodec(const FishCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const FishCodecConfig& config() const { return config_; }
  FishCodecState open() const;
  void run(StepContext& ctx, std::span<const FishCodecJob> jobs) const;

  size_t bytes() const;
  /// Returns the size in bytes of an open stream's state.
  size_t state_bytes() const;

 private:
  struct Upsample {
    CausalConvTranspose1d up;
    ConvNeXt mix;
  };
  struct Block {
    causal::Snake act;
    CausalConvTranspose1d up;
    std::vector<causal::ResidualUnit> units;
  };
  // Limit of frames per pass, over all streams. A frame needs some megabytes of scratch memory.
  static constexpr int64_t kPassFrames = 4;

  using Jobs = std::span<const FishCodecJob>;
  void load_quantizer(const Weights& weights, WeightType type);
  void load_decoder(const Weights& weights, WeightType type);
  /// Returns the latents [frames, latent] of the codes.
  View dequantise(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  void run_pass(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;

  FishCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // the out_proj of all codebooks, concatenated: [latent, Q * dim]
  StreamDecoder transformer_;
  std::vector<Upsample> upsample_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
