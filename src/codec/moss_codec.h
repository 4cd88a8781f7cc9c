// The decoder of MOSS-Audio-Tokenizer: frames of Q codes to samples. Each block is a causal
// transformer followed by a patch, which divides a row into several rows; the codec has no
// convolution. A state keeps the keys and values of each transformer's last window. A stream has
// the same bits for any division into chunks, and does not depend on the other streams of a call.
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
  int64_t frames_ = 0;  // number of frames decoded so far
  std::vector<StreamKv> kv_;
};

/// Input and output of one stream in one call.
struct MossCodecJob {
  MossCodecState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], each in [0, V)
  std::span<float> out;            ///< [T * hop], output; in about [-1, 1], not clipped
};

/// A transformer with the linears before and after it.
struct MossBlockNet {
  PackedLinear in;  ///< from the patched rows to the transformer's width; empty if equal
  StreamDecoder net;
  PackedLinear out;  ///< from the transformer's width to the block's; empty if equal
  int64_t rate = 1;  ///< rows per frame
};

/// Converts codes to samples.
class MossCodec {
 public:
  /// Loads "decoder." and the first config.codebooks codebooks of "quantizer." from `weights`. The
  /// transformers' matrices are stored as `type`.
  MossCodec(const MossCodecConfig& config, const Weights& weights,
            WeightType type = WeightType::kF32);

  const MossCodecConfig& config() const { return config_; }
  MossCodecState open() const;
  /// Decodes the frames of every job. On a GPU, the samples are ready after synchronize(). Throws
  /// InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const MossCodecJob> jobs) const;

  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;
  /// Returns the size in bytes of an open stream's state.
  size_t state_bytes() const;

 private:
  static constexpr int64_t kPassFrames = 8;  // frames per pass, over all streams; limits the memory

  void load_quantizer(const Weights& weights);
  View dequantise(StepContext& ctx, std::span<const MossCodecJob> jobs,
                  std::span<const PassPart> parts) const;
  void run_pass(StepContext& ctx, std::span<const MossCodecJob> jobs,
                std::span<const PassPart> parts) const;

  MossCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // from the concatenated entries of a frame to its latent
  std::vector<MossBlockNet> blocks_;
};

}  // namespace syrinx
