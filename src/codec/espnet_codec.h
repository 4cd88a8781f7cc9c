// ESPnet's neural codecs of the SEANet kind (ESPnet calls them "DAC", but they are not Descript's)
// from codes to samples: residual quantizers whose entries are added, then SeanetDecoder, with a
// stream state. A chunk has new ("fresh") frames and their lookahead() frames, as an edge provides
// them. The codec returns the samples of the fresh frames. A stream has the same bits as one whole
// call, and does not depend on the other streams of a call. Const after construction, shared by
// threads; a state is used by one call at a time. Source: espnet:espnet2/gan_codec/dac/dac.py,
// shared/quantizer/modules/core_vq.py. Q codebooks, V codes of each, T frames; a frame is hop()
// samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/seanet_decoder.h"

namespace syrinx {

/// Sizes of the codec. Plain data.
struct EspnetCodecConfig {
  int64_t codebooks = 8;         ///< Q: number of codebooks
  int64_t codebook_size = 1024;  ///< V: codes per codebook
  SeanetConfig decoder;

  /// Reads sizes from the tensors of the scope `generator` (see the constructor of EspnetCodec).
  static EspnetCodecConfig of(const Weights& generator);
  int64_t hop() const { return decoder.hop(); }
  /// Returns how many frames must follow a chunk before all its samples are final.
  int64_t lookahead() const { return (decoder.delay() + hop() - 1) / hop(); }
};

/// Loads the entries [V, D] of each codebook from the scope.
std::vector<Tensor> load_codebooks(const EspnetCodecConfig& config, const Weights& generator);

/// State of a stream between calls.
class EspnetCodecState {
 public:
  /// Returns the number of frames whose samples have been returned.
  int64_t frames() const { return taken_; }

 private:
  friend class EspnetCodec;
  seanet::Stream decoder_;
  int64_t fed_ = 0, taken_ = 0;  // frames decoded, and frames whose samples were returned
  bool ended_ = false;           // the decoder has read the last frame
  std::vector<float> ready_;     // decoded samples that run() has not yet returned
};

/// Input and output of one stream's chunk in one call.
struct EspnetCodecJob {
  EspnetCodecState* state = nullptr;
  std::span<const int32_t>
      codes;  ///< [fresh + ahead, Q], each in [0, V), from frame number state->frames() on
  int64_t fresh = 0;
  bool last = false;     ///< no frame follows `codes`; if false, ahead >= lookahead()
  std::span<float> out;  ///< [fresh * hop], output; the values have no bounds
};

/// The quantizers and the decoder, with their weights.
class EspnetCodec {
 public:
  using Job = EspnetCodecJob;
  /// `generator` is the scope that contains "quantizer." and "decoder.": "codec.generator" in a
  /// published file. Tensors that only encoding or training uses are not read.
  EspnetCodec(const EspnetCodecConfig& config, const Weights& generator, WeightType type);

  const EspnetCodecConfig& config() const { return config_; }
  /// Returns the state of a new stream.
  EspnetCodecState open() const;
  /// Decodes a chunk of each stream. Throws InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const EspnetCodecJob> jobs) const;
  /// Moves the weights to a GPU. The context of run() must then be of the GPU. Streams opened
  /// afterwards have their state there; codes and samples stay in host memory.
  void move_to(Device device);
  /// Returns the device of the weights.
  Device device() const { return decoder_.device(); }
  size_t bytes() const;

 private:
  /// Frames of a stream that are still to be decoded.
  struct Work {
    EspnetCodecState* state = nullptr;
    std::span<const int32_t> codes;  // [T, Q]
    bool last = false;               // the stream's last frames are among them, or were before
    bool done() const { return codes.empty() && !last; }
  };
  Work work_of(const EspnetCodecJob& job) const;
  void run_pass(StepContext& ctx, std::span<Work> parts) const;

  EspnetCodecConfig config_;
  std::vector<Tensor> codebooks_;  // Q tensors [V, D]
  std::vector<View> tables_;       // views of codebooks_
  SeanetDecoder decoder_;
};

}  // namespace syrinx
