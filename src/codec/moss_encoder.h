// The encoder of MOSS-Audio-Tokenizer: samples to frames of Q codes. A recording may be encoded at
// once or piece by piece, with the same codes. Const after construction, shared by threads; each
// call has a StepContext of its own, and a stream is used by one call at a time. Layout and names:
// MOSS-Audio-Tokenizer:modeling_moss_audio_tokenizer.py. Q codebooks, hop samples a frame, T
// frames; activations f32 [rows, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/moss_codec.h"
#include "codec/nearest_entry.h"

namespace syrinx {

class MossEncoder {
 public:
  /// State of one recording between pieces.
  struct Stream {
    std::vector<StreamKv> kv;
  };
  /// Takes "encoder." and the first config.codebooks codebooks of "quantizer." below `weights`.
  /// Fewer bits would choose other codes, so all is kept in f32.
  MossEncoder(const MossCodecConfig& config, const Weights& weights);

  const MossCodecConfig& config() const { return config_; }
  /// Returns T: whole frames. The end of a recording that fills no frame is left out.
  int64_t frames(int64_t samples) const { return samples / config_.hop(); }
  /// samples mono at config().sample_rate, about [-1, 1] -> codes [T, Q].
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const;
  /// Returns the most frames that the next piece may have, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// Encodes the next piece of whole frames -> codes [frames, Q].
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  size_t bytes() const;

 private:
  static constexpr int64_t kPieceFrames = 8;  // bounds the scratch

  struct Codebook {
    PackedLinear in, out;  // residual -> entry -> residual
    Tensor entries;        // [V, dim]
    NearestEntry nearest;  // of the normalised entries
  };
  void quantise(StepContext& ctx, const View& latent, std::span<int32_t> codes) const;

  MossCodecConfig config_;
  std::vector<MossBlockNet> blocks_;
  PackedLinear project_;  // latent -> residual
  std::vector<Codebook> codebooks_;
};

}  // namespace syrinx
