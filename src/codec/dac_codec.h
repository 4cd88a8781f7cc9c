// A codec of the DAC kind from codes to samples: factorised residual quantizers, then DacDecoder,
// with a stream state. A chunk has fresh frames and the frames after them, as a link with
// lookahead() provides them (model/pipeline.h). It returns the samples of the fresh frames. Each
// frame is decoded only once: samples that are already certain beyond the fresh frames are kept. A
// stream has the same bits as one whole call. Const after construction, shared by threads; a state
// is used by one call at a time. Q codebooks, V codes of each, T frames; a frame is hop() samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/dac_decoder.h"

namespace syrinx {

/// Sizes. Plain data.
struct DacCodecConfig {
  int64_t codebooks = 9;         ///< Q
  int64_t codebook_size = 1024;  ///< V
  int64_t codebook_dim = 8;      ///< width of an entry
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
  bool ended_ = false;           // the decoder got the last frame; samples may remain in ready_
  std::vector<float> ready_;     // decoded samples that are not yet returned
};

/// Input and output of one stream's chunk.
struct DacCodecJob {
  DacCodecState* state = nullptr;
  std::span<const int32_t>
      codes;  ///< [fresh + ahead, Q], each in [0, V); the first one is number frames()
  int64_t fresh = 0;
  bool last = false;     ///< true: no frame follows `codes`; else lookahead() or more follow
  std::span<float> out;  ///< [fresh * hop], written; in [-1, 1] if the decoder is bounded
};

/// Quantizers and decoder with their weights.
class DacCodec {
 public:
  /// `weights` is the scope that holds "quantizer." and "decoder."; `type` is how matrices are
  /// kept.
  DacCodec(const DacCodecConfig& config, const Weights& weights,
           WeightType type = WeightType::kF32);
  /// Takes ready-made parts: Q codebooks [V, dim], and `project` [D, Q * dim], which maps the
  /// concatenated entries of a frame to its latent.
  DacCodec(const DacCodecConfig& config, std::vector<Tensor> codebooks, PackedLinear project,
           DacDecoder decoder);

  const DacCodecConfig& config() const { return config_; }
  /// `seed` is the seed of the noise, if the codec uses noise.
  DacCodecState open(uint64_t seed = 0) const;
  /// Decodes each job's chunk. Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const DacCodecJob> jobs) const;

  /// Moves the network to a GPU; streams opened afterwards live there. The codebooks stay on the
  /// CPU.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;
  /// Returns the memory of one open stream in bytes.
  size_t state_bytes() const;

 private:
  View dequantise(StepContext& ctx, std::span<const int32_t> codes) const;

  DacCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, dim]
  PackedLinear project_;           // all codebooks' out_proj concatenated: [D, Q * dim]
  DacDecoder decoder_;
};

}  // namespace syrinx
