// X-Codec from a recording to codes, in the form bundled with Higgs Audio. The latent of DAC's
// encoder (the sound) and the rows of HuBERT (words and voice) are concatenated. Residual codebooks
// follow, each between two linears. Sizes are read from the tensors, but strides and dilations are
// 1. A recording is encoded whole, in pieces of some tens of milliseconds. CPU only, in f32: fewer
// bits would select other codes. Const after construction, shared by threads. Source:
// transformers:src/transformers/models/higgs_audio_v2_tokenizer (encode()). Q codebooks, T frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/dac_encoder.h"
#include "codec/hubert.h"
#include "codec/residual_quantizer.h"
#include "codec/xcodec.h"

namespace syrinx {

class XCodecEncoder {
 public:
  /// `weights` is the codec's scope. `config` is the config of the decoder.
  XCodecEncoder(const XCodecConfig& config, const Weights& weights);

  int sample_rate() const { return static_cast<int>(config_.codec.sample_rate); }
  /// Returns the number of samples of a frame.
  int64_t hop() const { return config_.codec.hop(); }
  /// Returns the number of frames T for a recording of at least kLeast samples.
  int64_t frames(int64_t samples) const;
  static constexpr int64_t kLeast = 4800;
  /// Encodes `samples` at sample_rate(), at least kLeast, to codes i32 [T, Q]. Returns the work as
  /// pieces; a piece uses the context in `ctx` when it runs. Samples, codes, `ctx` and this object
  /// must outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& codes) const;
  size_t bytes() const;

 private:
  /// A residual unit: adds to its input the output of two convolutions.
  struct Unit {
    PackedConv1d wide;
    PackedLinear mix;
  };
  struct Block {
    std::vector<Unit> units;
    PackedConv1d conv;
  };

  PackedConv1d load_conv(const Weights& weights, bool bias) const;
  void load_semantic(const Weights& weights);
  void load_codebooks(const Weights& weights);
  std::vector<float> for_hubert(std::span<const float> samples) const;
  int64_t semantic_rows(int64_t samples) const;
  /// Computes HuBERT's rows [T, W], one per frame.
  Pieces listen(StepContext* const& ctx, std::span<const float> samples, Tensor& rows) const;
  /// Runs the convolutions over HuBERT's rows, in place.
  Pieces mix(StepContext* const& ctx, Tensor& rows) const;
  Pieces hear(StepContext* const& ctx, std::span<const float> samples, Tensor& latent) const;

  XCodecConfig config_;
  DacEncoder acoustic_;
  Hubert hubert_;
  int64_t every_ = 1;  // HuBERT rows per frame; only the first row is used
  PackedConv1d head_;
  std::vector<Block> blocks_;
  PackedLinear join_;
  ResidualQuantizer quantizer_;
};

}  // namespace syrinx
