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

#include "codec/codec_pass.h"
#include "codec/moss_codec_config.h"
#include "io/weights.h"

namespace syrinx {

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
  CodecState open() const;
  /// Decodes the frames of every job to samples in about [-1, 1], not clipped. On a GPU, the
  /// samples are ready after synchronize(). Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const CodecJob> jobs) const;

  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;

 private:
  static constexpr int64_t kPassFrames = 8;  // frames per pass, over all streams; limits the memory

  void load_quantizer(const Weights& weights);
  View dequantise(StepContext& ctx, std::span<const CodecJob> jobs, const CodecPass& pass) const;

  MossCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // from the concatenated entries of a frame to its latent
  std::vector<MossBlockNet> blocks_;
};

}  // namespace syrinx
