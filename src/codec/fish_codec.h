// The decoder of Fish Audio's codec: frames of Q codes to samples. A state keeps everything that
// later frames of a stream need. The whole decoder is causal. A stream has the same bits however it
// is cut into chunks. Its samples do not depend on the other streams of a call. Const after
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

/// State of one stream between calls: the past of every convolution, the last window of keys and
/// values.
class FishCodecState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class FishCodec;
  int64_t frames_ = 0;  // frames decoded so far
  StreamKv kv_;
  std::vector<ConvState> convs_;  // in the order of the network
};

/// Input and output of one stream in a call.
struct FishCodecJob {
  FishCodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], not negative; clamped to the largest code
  std::span<float> out;            ///< [T * hop], written; in [-1, 1]
};

/// Quantizers, transformer and decoder with their weights.
class FishCodec {
 public:
  /// `weights` is the scope that holds "quantizer." and "decoder."; `type` is the storage type of
  /// the matrices.
  FishCodec(const FishCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const FishCodecConfig& config() const { return config_; }
  FishCodecState open() const;
  void run(StepContext& ctx, std::span<const FishCodecJob> jobs) const;

  size_t bytes() const;
  /// Returns the memory of one open stream in bytes.
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
  // Frames of all streams in one pass; bounds the scratch memory (some megabytes a frame).
  static constexpr int64_t kPassFrames = 4;

  using Jobs = std::span<const FishCodecJob>;
  void load_quantizer(const Weights& weights, WeightType type);
  void load_decoder(const Weights& weights, WeightType type);
  /// Returns the latents of the codes, [frames, latent].
  View dequantise(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  void run_pass(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;

  FishCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // all codebooks' out_proj concatenated: [latent, Q * dim]
  StreamDecoder transformer_;
  std::vector<Upsample> upsample_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
