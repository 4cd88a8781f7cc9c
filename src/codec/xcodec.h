// X-Codec from codes to samples, as Higgs Audio bundles it: residual codebooks without a norm, each
// with a linear of its own, their sum through another linear (fc2), and DAC's decoder without its
// tanh. The two linears are one here, made at load. Its config is not published with the weights,
// so sizes are read off the tensors.
// Source: transformers:src/transformers/models/higgs_audio_v2_tokenizer (decode()).
#pragma once

#include "codec/dac_codec.h"
#include "io/weights.h"

namespace syrinx {

struct XCodecConfig {
  DacCodecConfig codec;
  int64_t width = 1024;  ///< between the two linears

  static constexpr int64_t kSampleRate = 24000;  ///< Hz; no tensor tells it

  /// The published sizes, of which no tensor says otherwise. Throws LoadError for sizes that do not
  /// fit together.
  static XCodecConfig of(const Weights& weights);
};

/// Reads the tensors that decoding needs below `weights`; what only encoding does is left out, and
/// the buffers of the training are.
DacCodec load_xcodec(const XCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
