// The decoder of MOSS-Audio-Tokenizer: frames of Q codes to samples. Each block is a causal
// transformer, whose rows a patch then cuts into more rows; no convolution. A state keeps the last
// window of keys and values of each transformer. Cutting a stream into chunks anywhere gives the
// bits of decoding it whole, and a stream's samples do not depend on the other streams of a call.
// Const after construction, shared by threads; a state is used by one call at a time. Layout and
// names: MOSS-Audio-Tokenizer:modeling_moss_audio_tokenizer.py. Q codebooks, V codes of each, hop
// samples a frame, T frames; activations f32 [rows, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/moss_codec_config.h"
#include "io/weights.h"
#include "nn/stream_decoder.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// State of one stream between calls.
class MossCodecState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class MossCodec;
  int64_t frames_ = 0;  // decoded so far
  std::vector<StreamKv> kv_;
};

/// Input and output of one stream in a call.
struct MossCodecJob {
  MossCodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], each in [0, V)
  std::span<float> out;            ///< [T * hop], written; about [-1, 1], not clipped
};

/// A transformer with its projections.
struct MossBlockNet {
  PackedLinear in;  ///< from patched rows to the transformer's; empty: the rows are its own
  StreamDecoder net;
  PackedLinear out;  ///< empty: the transformer makes the block's channels
  int64_t rate = 1;  ///< rows a frame
};

/// Codes to samples.
class MossCodec {
 public:
  /// Takes the first config.codebooks codebooks of "quantizer." and "decoder." below `weights`;
  /// `type` is how the matrices of the transformers are kept.
  MossCodec(const MossCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const MossCodecConfig& config() const { return config_; }
  MossCodecState open() const;
  /// Decodes every job's frames; on a GPU the samples are there after synchronize(). Throws
  /// InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const MossCodecJob> jobs) const;

  /// Moves the network to a GPU; streams opened from then on lie there.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;
  /// Memory of one open stream.
  size_t state_bytes() const;

 private:
  static constexpr int64_t kPassFrames = 8;  // of all streams: bounds the scratch

  void load_quantizer(const Weights& weights);
  View dequantise(StepContext& ctx, std::span<const MossCodecJob> jobs,
                  std::span<const PassPart> parts) const;
  void run_pass(StepContext& ctx, std::span<const MossCodecJob> jobs,
                std::span<const PassPart> parts) const;

  MossCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q of [V, dim]
  PackedLinear project_;           // of the concatenated entries of a frame to its latent
  std::vector<MossBlockNet> blocks_;
};

}  // namespace syrinx
