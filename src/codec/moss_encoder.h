// The encoder of MOSS-Audio-Tokenizer: samples to frames of Q codes. Encoding a recording whole or
// piece by piece gives the same codes. Const after construction, shared by threads. Each call has
// its own StepContext, and a stream is used by one call at a time. Layout and names:
// MOSS-Audio-Tokenizer:modeling_moss_audio_tokenizer.py. Q codebooks, hop samples a frame, T
// frames; activations f32 [rows, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/moss_codec.h"
#include "codec/residual_quantizer.h"

namespace syrinx {

class MossEncoder {
 public:
  /// State of one recording between two pieces.
  struct Stream {
    std::vector<StreamKv> kv;
  };
  /// Loads "encoder." and the first config.codebooks codebooks of "quantizer." from `weights`. All
  /// weights are f32, because fewer bits would select other codes.
  MossEncoder(const MossCodecConfig& config, const Weights& weights);

  const MossCodecConfig& config() const { return config_; }
  /// Returns T, the number of whole frames. An incomplete frame at the end is ignored.
  int64_t frames(int64_t samples) const { return samples / config_.hop(); }
  /// Encodes samples, mono at config().sample_rate, in about [-1, 1], to codes [T, Q].
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const;
  /// Returns the limit of frames of the next piece, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// Encodes the next piece of whole frames to codes [frames, Q].
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  size_t bytes() const;

 private:
  static constexpr int64_t kPieceFrames = 8;  // most frames per piece; limits the scratch memory

  MossCodecConfig config_;
  std::vector<MossBlockNet> blocks_;
  PackedLinear project_;  // from latent to residual
  ResidualQuantizer quantizer_;
};

}  // namespace syrinx
