// The encoder of Fish Audio's codec: samples to frames of Q codes, a recording at once or piece by
// piece, with the same codes. Const after construction, shared by threads; a stream is used by one
// call at a time. Networks: fish-speech:fish_speech/models/dac/{modded_dac,rvq}.py.
// Q codebooks, hop samples a frame, T frames; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/causal_layers.h"
#include "codec/fish_codec_config.h"
#include "nn/convnext.h"
#include "nn/stream_decoder.h"

namespace syrinx {

class FishEncoder {
 public:
  /// What a recording has left in the layers so far, in the order of the network.
  struct Stream {
    std::vector<ConvState> convs;
    std::vector<StreamKv> transformers;
  };
  /// `weights` is the scope that holds "encoder." and "quantizer.". Fewer bits would choose other
  /// codes, so all is kept in f32.
  FishEncoder(const FishCodecConfig& config, const Weights& weights);

  const FishCodecConfig& config() const { return config_; }
  /// T: a frame for each begun hop of samples.
  int64_t frames(int64_t samples) const { return (samples + config_.hop() - 1) / config_.hop(); }
  /// samples mono at FishCodecConfig::kSampleRate, about [-1, 1] -> codes [T, Q].
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const;
  /// How many frames the next piece may have, at least 1. Call it before each.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// The next piece: whole frames of samples, or the end of the recording -> codes [frames, Q].
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  size_t bytes() const;

 private:
  struct Block {
    std::vector<causal::ResidualUnit> units;
    causal::Snake act;
    CausalConv1d down;
    StreamDecoder transformer;  // of some blocks
    int64_t frame_rows = 0;     // rows a frame in it; 0: none
  };
  struct Downsample {
    CausalConv1d down;
    ConvNeXt mix;
  };
  struct Codebook {
    PackedLinear in, out;  // latent -> dim -> latent
    Tensor entries;        // [V, dim]
    PackedLinear nearest;  // x . e - |e|^2 / 2 of each entry at length 1: the nearest is largest
  };
  static constexpr int64_t kPieceFrames = 4;  // bounds the scratch

  void load_network(const Weights& weights);
  void load_quantizers(const Weights& weights);
  View transform(StepContext& ctx, const StreamDecoder& transformer, StreamKv& kv,
                 const View& x) const;
  void quantise(StepContext& ctx, const View& latent, std::span<int32_t> codes) const;

  FishCodecConfig config_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
  causal::Snake tail_act_;
  std::vector<Downsample> downsample_;
  StreamDecoder transformer_;
  std::vector<Codebook> codebooks_;
};

}  // namespace syrinx
