// A codec of the DAC kind from codes to samples: factorised residual quantizers, then DacDecoder,
// with a stream state. A chunk has new ("fresh") frames and their lookahead() frames, as an edge
// provides them (model/graph.h). The codec returns the samples of the fresh frames. Each frame is
// decoded only once: final samples beyond the fresh frames wait for the next chunk. A stream has
// the bits of one whole call. Const after construction, shared by threads; a state serves one call
// at a time. Q codebooks, V codes of each, T frames; a frame is hop() samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/dac_decoder.h"

namespace syrinx {

/// Sizes of the codec. Plain data.
struct DacCodecConfig {
  int64_t codebooks = 9;         ///< Q: number of codebooks
  int64_t codebook_size = 1024;  ///< V: codes per codebook
  int64_t codebook_dim = 8;      ///< width of a codebook entry
  int64_t sample_rate = 44100;   ///< Hz
  DacDecoderConfig decoder;

  int64_t hop() const { return decoder.hop(); }
  int64_t lookahead() const { return decoder.lookahead(); }
};

/// State of a stream between calls.
class DacCodecState {
 public:
  /// Returns the number of frames whose samples have been returned.
  int64_t frames() const { return taken_; }

 private:
  friend class DacCodec;
  DacDecoderState decoder_;
  int64_t fed_ = 0, taken_ = 0;  // frames decoded, and frames whose samples were returned
  bool ended_ = false;           // the decoder has read the last frame; ready_ may have samples
  std::vector<float> ready_;     // decoded samples that run() has not yet returned
};

/// Input and output of one stream's chunk in one call.
struct DacCodecJob {
  DacCodecState* state = nullptr;
  std::span<const int32_t>
      codes;  ///< [fresh + ahead, Q], each in [0, V), from frame number state->frames() on
  int64_t fresh = 0;
  bool last = false;     ///< no frame follows `codes`; if false, ahead >= lookahead()
  std::span<float> out;  ///< [fresh * hop], output; in [-1, 1] if the decoder is bounded
};

/// The quantizers and the decoder, with their weights.
class DacCodec {
 public:
  using Job = DacCodecJob;
  /// `weights` is the scope that contains "quantizer." and "decoder."; the matrices are stored as
  /// `type`.
  DacCodec(const DacCodecConfig& config, const Weights& weights,
           WeightType type = WeightType::kF32);
  /// Makes a codec of existing parts: Q codebooks [V, dim], and `project` [D, Q * dim], which maps
  /// the concatenated entries of a frame to its latent.
  DacCodec(const DacCodecConfig& config, std::vector<Tensor> codebooks, PackedLinear project,
           DacDecoder decoder);

  const DacCodecConfig& config() const { return config_; }
  /// `seed` determines the noise of codecs that use noise.
  DacCodecState open(uint64_t seed = 0) const;
  /// Decodes the chunk of each job. Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const DacCodecJob> jobs) const;

  /// Moves the network to a GPU; streams opened afterwards are on the GPU. The codebooks stay on
  /// the CPU.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;

 private:
  View dequantise(StepContext& ctx, std::span<const int32_t> codes) const;

  DacCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // the out_proj of all codebooks, concatenated: [D, Q * dim]
  DacDecoder decoder_;
};

}  // namespace syrinx
