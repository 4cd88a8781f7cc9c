// The decoder of the Qwen3 12 Hz speech codec in its two forms, Qwen3-TTS and Qwen3-Omni
// (code2wav): frames of Q codes to samples. A state keeps everything that later frames of a stream
// need. A stream has the same bits for any division into chunks, and does not depend on the other
// streams of a call. Const after construction, shared by threads; a state is used by one call at a
// time. Q codebooks, V codes of each, hop samples a frame, T frames; activations f32 [time,
// channels].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/codec_pass.h"
#include "codec/qwen3_codec_config.h"
#include "io/weights.h"
#include "nn/convnext.h"

namespace syrinx {

/// The quantizers, the transformer and the decoder, with their weights.
class Qwen3Codec {
 public:
  /// `weights` is the scope that contains "decoder.", or the scope of code2wav. The matrices are
  /// stored as `type`.
  Qwen3Codec(const Qwen3CodecConfig& config, const Weights& weights,
             WeightType type = WeightType::kF32);

  const Qwen3CodecConfig& config() const { return config_; }
  CodecState open() const;
  /// Decodes the frames of every job to samples in [-1, 1]. The first config().lead() samples of a
  /// stream are zeros, because the network does not compute them. On a GPU, the samples are ready
  /// after synchronize(). Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const CodecJob> jobs) const;
  /// Sets `state` to the state after codes [T, Q], so that later frames can follow. Computes
  /// samples only for the last frames, on which later samples depend, and drops these samples.
  void hear(StepContext& ctx, CodecState& state, std::span<const int32_t> codes) const;

  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;

 private:
  struct Snake {
    Tensor alpha, inv_beta;  // [C]; exponentials of the stored logarithms
  };
  struct Upsample {
    CausalConvTranspose1d up;
    ConvNeXt mix;
  };
  struct ResidualUnit {
    Snake act1, act2;
    CausalConv1d conv;  // 7 taps, dilated
    PackedLinear mix;   // 1 tap
  };
  struct Block {
    Snake act;
    CausalConvTranspose1d up;
    std::vector<ResidualUnit> units;
  };
  // Limit of frames per pass, over all streams. A frame needs some megabytes of scratch memory.
  static constexpr int64_t kPassFrames = 8;

  void load_quantizer(const Weights& weights);
  void set_tables();
  void load_transformer(const Weights& weights);
  void load_decoder(const Weights& weights);
  Snake load_snake(const Weights& weights, int64_t channels) const;
  Upsample load_upsample(const Weights& weights, int64_t factor) const;
  Block load_block(const Weights& weights, int64_t in, int64_t out, int64_t rate) const;

  /// Applies a snake to x. `out` may be the memory of x.
  static void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
  using Jobs = std::span<const CodecJob>;
  View run_pass(StepContext& ctx, Jobs jobs, CodecPass& pass) const;
  /// Runs the layers before the head, which are a small share of the work.
  View run_latent(StepContext& ctx, CodecPass& pass, Jobs jobs) const;
  /// Returns how many earlier frames affect a sample through the head and the layers after it.
  int64_t reach() const;
  /// Returns the embedded codes of code2wav: [frames, hidden].
  View embed_codes(StepContext& ctx, Jobs jobs, const CodecPass& pass) const;
  /// For code2wav: sets the first `skip` rows of each stream to zero, counted in rows of `x`.
  void clear_lead(StepContext& ctx, const CodecPass& pass, int64_t skip, const View& x) const;
  /// Returns the quantizer's output: [frames, codebook_dim].
  View dequantise(StepContext& ctx, Jobs jobs, const CodecPass& pass) const;
  /// Runs the transformer; returns [frames, latent].
  View transform(StepContext& ctx, const CodecPass& pass, const View& latent) const;
  /// Runs one block. Overwrites x.
  View decode_block(StepContext& ctx, CodecPass& pass, const Block& block, int64_t skip,
                    const View& x) const;

  Qwen3CodecConfig config_;
  WeightType type_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, D], where D is half of codebook_dim
  Embedding embedding_;            // [Q * V, hidden]; code2wav has this table instead of codebooks
  std::vector<View> tables_;       // Q views [V, ...] of codebooks_ or of embedding_
  PackedLinear first_out_, rest_out_;
  CausalConv1d pre_conv_;
  PackedLinear in_proj_, out_proj_;
  StreamDecoder transformer_;
  std::vector<Upsample> upsample_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  Snake tail_act_;
};

}  // namespace syrinx
