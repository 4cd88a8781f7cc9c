// ESPnet's neural codecs of the SEANet kind ("DAC" in ESPnet, which is not Descript's) from codes
// to samples: residual quantizers whose entries add up, then SeanetDecoder, with a stream state. A
// chunk brings fresh frames and the frames after them, as a link with lookahead() gives them, and
// takes exactly the fresh frames' samples. Streamed equals offline, bit for bit. On the CPU.
// Const after construction, shared by threads; a state is used by one call at a time.
// Source: espnet:espnet2/gan_codec/dac/dac.py, shared/quantizer/modules/core_vq.py.
// Q codebooks, V codes of each, T frames; a frame is hop() samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/seanet_decoder.h"

namespace syrinx {

/// Sizes. Plain data.
struct EspnetCodecConfig {
  int64_t codebooks = 8;         ///< Q
  int64_t codebook_size = 1024;  ///< V
  SeanetConfig decoder;

  /// Reads sizes from the tensors of the scope (below).
  static EspnetCodecConfig of(const Weights& generator);
  int64_t hop() const { return decoder.hop(); }
  /// Frames after the last one of a chunk that make all of its samples certain.
  int64_t lookahead() const { return (decoder.delay() + hop() - 1) / hop(); }
};

/// The entries [V, D] of each codebook of the scope.
std::vector<Tensor> load_codebooks(const EspnetCodecConfig& config, const Weights& generator);

/// What a stream keeps between calls.
class EspnetCodecState {
 public:
  /// Frames whose samples have been taken.
  int64_t frames() const { return taken_; }

 private:
  friend class EspnetCodec;
  SeanetDecoder::Stream decoder_;
  int64_t fed_ = 0, taken_ = 0;  // frames
  bool ended_ = false;           // the decoder has the end
  std::vector<float> ready_;     // samples after those taken
};

/// One stream's chunk.
struct EspnetCodecJob {
  EspnetCodecState* state = nullptr;
  std::span<const int32_t>
      codes;  ///< [fresh + ahead, Q], each in [0, V); the first is frame frames()
  int64_t fresh = 0;
  bool last = false;     ///< no frame follows those of `codes`; otherwise lookahead() do or more
  std::span<float> out;  ///< [fresh * hop], written; not bounded
};

/// Quantizers and decoder with their weights.
class EspnetCodec {
 public:
  /// `generator` is the scope that holds "quantizer." and "decoder.": "codec.generator" of a
  /// published file. What only encodes or trains is left in the file.
  EspnetCodec(const EspnetCodecConfig& config, const Weights& generator, WeightType type);

  const EspnetCodecConfig& config() const { return config_; }
  EspnetCodecState open() const;
  /// Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, const EspnetCodecJob& job) const;
  size_t bytes() const;

 private:
  EspnetCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q of [V, D]
  std::vector<View> tables_;       // the same
  SeanetDecoder decoder_;
};

}  // namespace syrinx
