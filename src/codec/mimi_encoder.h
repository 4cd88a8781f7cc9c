// The encoder of the Mimi speech codec: samples to frames of Q codes. A recording may be encoded at
// once or piece by piece, with the same codes. Const after construction, shared by threads; each
// call has a StepContext of its own, and a stream is used by one call at a time.
// Layout, names and codes: transformers' MimiModel. Q codebooks, V codes of each, hop samples a
// frame, T frames, H width of the latent; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/mimi.h"

namespace syrinx {

class MimiEncoder {
 public:
  /// State of one recording between pieces.
  struct Stream {
    std::vector<ConvState> convs;  // in the order of the network
    StreamKv kv;
  };
  /// `weights` is the scope that holds "encoder.", "encoder_transformer.", "downsample." and
  /// "quantizer.". All weights are kept in f32: fewer bits would choose other codes.
  MimiEncoder(const MimiConfig& config, const Weights& weights);

  const MimiConfig& config() const { return config_; }
  /// Returns T: every hop of samples is a frame, even an incomplete last one.
  int64_t frames(int64_t samples) const { return (samples + config_.hop() - 1) / config_.hop(); }
  /// Encodes samples, mono at config().sample_rate, about [-1, 1] -> codes [T, Q]. Apart from the
  /// codes, memory does not grow with the length of the recording.
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const;
  /// Returns the most frames that the next piece may have, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// Encodes the next piece: whole frames of samples, or the end of the recording -> codes [frames,
  /// Q].
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  size_t bytes() const;

 private:
  struct Block {
    std::vector<MimiResidualUnit> units;
    CausalConv1d down;
    int64_t stride = 1;
  };
  /// One of the two residual quantizers: codebooks [first, first + stages.size()).
  struct Quantizer {
    int64_t first = 0;
    PackedLinear in;                   // H -> D
    std::vector<Tensor> codebooks;     // [V, D]
    std::vector<PackedLinear> stages;  // x . e - |e|^2 / 2 of each code e: largest for the nearest
  };

  Quantizer load_quantizer(const Weights& weights, bool semantic) const;
  void load_network(const Weights& weights);
  void quantise(StepContext& ctx, const Quantizer& quantizer, const View& latent,
                std::span<int32_t> codes) const;

  MimiConfig config_;
  CausalConv1d head_, tail_, downsample_;
  std::vector<Block> blocks_;
  StreamDecoder transformer_;
  Quantizer semantic_, acoustic_;
};

}  // namespace syrinx
