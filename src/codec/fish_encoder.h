// The encoder of Fish Audio's codec: samples to frames of Q codes. Encoding a recording whole
// or piece by piece gives the same codes. Const after construction, shared by threads; a stream
// is used by one call at a time. Networks:
// fish-speech:fish_speech/models/dac/{modded_dac,rvq}.py. Q codebooks, hop samples a frame, T
// frames; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/causal_layers.h"
#include "codec/fish_codec_config.h"
#include "codec/residual_quantizer.h"
#include "nn/convnext.h"
#include "nn/stream_decoder.h"

namespace syrinx {

class FishEncoder {
 public:
  /// State of one recording between two pieces, in the order of the network.
  struct Stream {
    std::vector<ConvState> convs;
    std::vector<StreamKv> transformers;
  };
  /// `weights` is the scope that contains "encoder." and "quantizer.". All weights are f32, because
  /// fewer bits would select other codes.
  FishEncoder(const FishCodecConfig& config, const Weights& weights);

  const FishCodecConfig& config() const { return config_; }
  /// Returns T, the number of frames; an incomplete frame at the end counts.
  int64_t frames(int64_t samples) const { return (samples + config_.hop() - 1) / config_.hop(); }
  /// Encodes samples, mono at FishCodecConfig::kSampleRate, in about [-1, 1], to codes [T, Q].
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const;
  /// Returns the limit of frames of the next piece, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// Encodes the next piece to codes [frames, Q]. A piece has whole frames of samples; only the
  /// last piece of a recording may end within a frame.
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  size_t bytes() const;

 private:
  struct Block {
    std::vector<causal::ResidualUnit> units;
    causal::Snake act;
    CausalConv1d down;
    StreamDecoder transformer;  // empty if the block has no transformer
    int64_t frame_rows = 0;     // rows per frame in the transformer; 0 without a transformer
  };
  struct Downsample {
    CausalConv1d down;
    ConvNeXt mix;
  };
  static constexpr int64_t kPieceFrames = 4;  // most frames per piece; limits the scratch memory

  void load_network(const Weights& weights);
  void load_quantizers(const Weights& weights);
  View transform(StepContext& ctx, const StreamDecoder& transformer, StreamKv& kv,
                 const View& x) const;

  FishCodecConfig config_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
  std::vector<Downsample> downsample_;
  StreamDecoder transformer_;
  ResidualQuantizer quantizer_;
};

}  // namespace syrinx
