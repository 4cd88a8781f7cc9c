// A codec of the DAC kind from codes to samples: factorised residual quantizers, then DacDecoder,
// with a stream state. A chunk brings fresh frames and the frames after them, as a link with
// lookahead() gives them (model/pipeline.h), and takes exactly the fresh frames' samples; frames
// are decoded once, and what is certain beyond them is kept. Streamed equals offline, bit for bit.
// Const after construction, shared by threads; a state is used by one call at a time.
// Q codebooks, V codes of each, T frames; a frame is hop() samples.
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

/// What a stream keeps between calls.
class DacCodecState {
 public:
  /// Frames whose samples have been taken.
  int64_t frames() const { return taken_; }

 private:
  friend class DacCodec;
  DacDecoderState decoder_;
  int64_t fed_ = 0, taken_ = 0;  // frames
  bool ended_ = false;           // the decoder has the end; samples may be left to take
  std::vector<float> ready_;     // samples after those taken
};

/// One stream's chunk.
struct DacCodecJob {
  DacCodecState* state = nullptr;
  std::span<const int32_t>
      codes;  ///< [fresh + ahead, Q], each in [0, V); the first is frame frames()
  int64_t fresh = 0;
  bool last = false;     ///< no frame follows those of `codes`; otherwise lookahead() do or more
  std::span<float> out;  ///< [fresh * hop], written; in [-1, 1] where the decoder is bounded
};

/// Quantizers and decoder with their weights.
class DacCodec {
 public:
  /// `weights` is the scope that holds "quantizer." and "decoder."; `type` is how matrices are
  /// kept.
  DacCodec(const DacCodecConfig& config, const Weights& weights,
           WeightType type = WeightType::kF32);
  /// Takes its parts: Q codebooks [V, dim], and what makes a latent frame of its entries side by
  /// side, [D, Q * dim].
  DacCodec(const DacCodecConfig& config, std::vector<Tensor> codebooks, PackedLinear project,
           DacDecoder decoder);

  const DacCodecConfig& config() const { return config_; }
  /// `seed` is of the noise, where a codec has any.
  DacCodecState open(uint64_t seed = 0) const;
  /// Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const DacCodecJob> jobs) const;

  /// Moves the network to a GPU; streams opened from then on lie there. The codebooks stay.
  void move_to(Device device);
  Device device() const { return project_.device(); }
  size_t bytes() const;
  /// Memory of one open stream.
  size_t state_bytes() const;

 private:
  View dequantise(StepContext& ctx, std::span<const int32_t> codes) const;

  DacCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q of [V, dim]
  PackedLinear project_;           // all codebooks' out_proj side by side: [D, Q * dim]
  DacDecoder decoder_;
};

}  // namespace syrinx
