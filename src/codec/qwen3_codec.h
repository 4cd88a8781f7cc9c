// The decoder of the Qwen3 12 Hz speech codec, as Qwen3-TTS and (code2wav) Qwen3-Omni have it:
// frames of Q codes to samples, with everything a stream needs later kept in its state. Cutting a
// stream into chunks anywhere gives the bits of decoding it whole, and a stream's samples do not
// depend on the other streams of a call. Const after construction, shared by threads; a state is
// used by one call at a time. Q codebooks, V codes of each, hop samples a frame, T frames;
// activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codec/qwen3_codec_config.h"
#include "io/weights.h"
#include "nn/convnext.h"
#include "nn/stream_decoder.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// One stream between calls: the past of every convolution and the last window of keys and values.
class Qwen3CodecState {
 public:
  int64_t frames() const { return frames_; }
  Qwen3CodecState clone() const;

 private:
  friend class Qwen3Codec;
  int64_t frames_ = 0;  // decoded so far
  StreamKv kv_;
  std::vector<ConvState> convs_;  // in the order of the network
};

/// One stream's part of a call.
struct Qwen3CodecJob {
  Qwen3CodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], each in [0, V)
  /// [T * hop], written; in [-1, 1]. The first config().lead() samples of a stream, which the
  /// network does not make, are zeros.
  std::span<float> out;
};

/// Quantizers, transformer and decoder with their weights.
class Qwen3Codec {
 public:
  /// `weights` is the scope that holds "decoder.", or code2wav itself; `type` is how the matrices
  /// are kept.
  Qwen3Codec(const Qwen3CodecConfig& config, const Weights& weights,
             WeightType type = WeightType::kF32);

  const Qwen3CodecConfig& config() const { return config_; }
  Qwen3CodecState open() const;
  /// Decodes every job's frames; on a GPU the samples are there after synchronize(). Throws
  /// InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const Qwen3CodecJob> jobs) const;
  /// Leaves `state` as if codes [T, Q] had been decoded, for what comes after them: only as many of
  /// their samples are made as later ones depend on.
  void hear(StepContext& ctx, Qwen3CodecState& state, std::span<const int32_t> codes) const;

  /// Moves the network to a GPU; streams opened from then on lie there.
  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;
  /// Memory of one open stream.
  size_t state_bytes() const;

 private:
  struct Snake {
    Tensor alpha, inv_beta;  // [C], out of the log domain
  };
  struct Upsample {
    CausalConvTranspose1d up;
    ConvNeXt mix;
  };
  struct ResidualUnit {
    Snake act1, act2;
    CausalConv1d conv;  // k 7, dilated
    PackedLinear mix;   // k 1
  };
  struct Block {
    Snake act;
    CausalConvTranspose1d up;
    std::vector<ResidualUnit> units;
  };
  static constexpr int64_t kPassFrames = 8;  // of all streams: bounds the scratch, MBs a frame

  void load_quantizer(const Weights& weights);
  void set_tables();
  void load_transformer(const Weights& weights);
  void load_decoder(const Weights& weights);
  Snake load_snake(const Weights& weights, int64_t channels) const;
  Upsample load_upsample(const Weights& weights, int64_t factor) const;
  Block load_block(const Weights& weights, int64_t in, int64_t out, int64_t rate) const;

  /// out may be x.
  static void snake(StepContext& ctx, const View& x, const Snake& act, const View& out);
  using Jobs = std::span<const Qwen3CodecJob>;
  void run_pass(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  /// The layers before the head, which are a small part of the work.
  View run_latent(StepContext& ctx, StreamPass& pass, Jobs jobs,
                  std::span<const PassPart> parts) const;
  /// How many frames before a sample the head and the layers after it see.
  int64_t reach() const;
  /// [frames, hidden], of code2wav.
  View embed_codes(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  /// For code2wav: clears the first `skip` rows that each stream has at the pass' rate.
  void clear_lead(StepContext& ctx, const StreamPass& pass, Jobs jobs, int64_t skip,
                  const View& x) const;
  /// [frames, codebook_dim].
  View dequantise(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts) const;
  /// [frames, latent].
  View transform(StepContext& ctx, Jobs jobs, std::span<const PassPart> parts,
                 const View& latent) const;
  /// Overwrites x.
  View decode_block(StepContext& ctx, StreamPass& pass, Jobs jobs, const Block& block, int64_t skip,
                    const View& x) const;

  Qwen3CodecConfig config_;
  WeightType type_;
  std::vector<Tensor> codebooks_;  // Q of [V, D], D half the codebook_dim
  Embedding embedding_;            // [Q * V, hidden] of code2wav instead
  std::vector<View> tables_;       // Q of [V, ...] of either
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
