// The decoder of Fish Audio's codec: frames of Q codes to samples, with everything a stream needs
// later kept in its state. All of it is causal: cutting a stream into chunks anywhere gives the
// bits of decoding it whole, and a stream's samples do not depend on the other streams of a call.
// Const after construction, shared by threads; a state is used by one call at a time.
// Networks: fish-speech:fish_speech/models/dac/{modded_dac,rvq}.py.
// Q codebooks, hop samples a frame, T frames; activations f32 [time, channels].
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

/// One stream between calls: the past of every convolution, the last window of keys and values.
class FishCodecState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class FishCodec;
  int64_t frames_ = 0;  // decoded so far
  StreamKv kv_;
  std::vector<ConvState> convs_;  // in the order of the network
};

/// One stream's part of a call.
struct FishCodecJob {
  FishCodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], none negative; too large ones count as the largest
  std::span<float> out;            ///< [T * hop], written; in [-1, 1]
};

/// Quantizers, transformer and decoder with their weights.
class FishCodec {
 public:
  /// `weights` is the scope that holds "quantizer." and "decoder."; `type` is how the matrices are
  /// kept.
  FishCodec(const FishCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const FishCodecConfig& config() const { return config_; }
  FishCodecState open() const;
  void run(StepContext& ctx, std::span<const FishCodecJob> jobs) const;

  size_t bytes() const;
  /// Memory of one open stream.
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
  static constexpr int64_t kPassFrames = 4;  // of all streams: bounds the scratch, MBs a frame

  using Jobs = std::span<const FishCodecJob>;
  void load_quantizer(const Weights& weights, WeightType type);
  void load_decoder(const Weights& weights, WeightType type);
  /// [frames, latent].
  View dequantise(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  void run_pass(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;

  FishCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q of [V, dim]
  PackedLinear project_;           // all codebooks' out_proj side by side: [latent, Q * dim]
  StreamDecoder transformer_;
  std::vector<Upsample> upsample_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
};

}  // namespace syrinx
