// X-Codec from codes to samples: residual codebooks without a norm, a linear (fc2) of their sum,
// and DAC's decoder without its tanh. In the form that Higgs Audio bundles, each codebook has a
// linear of its own before the sum, which is joined with fc2 at load. The first X-Codec, which
// Bagpiper bundles, has no such linears. No config is published with the weights, so sizes are read
// from the tensors. Sources: transformers:src/transformers/models/{xcodec,higgs_audio_v2_tokenizer}
// (decode()).
#pragma once

#include "codec/dac_codec.h"
#include "io/weights.h"

namespace syrinx {

struct XCodecConfig {
  DacCodecConfig codec;
  int64_t width = 1024;  ///< width of fc2's input
  /// Whether codebooks have linears of their own, to `width`; else their entries have that width.
  bool projected = true;

  /// Return the published sizes of Higgs Audio's codec, 24 kHz, and of
  /// hf-audio/xcodec-hubert-general, 16 kHz.
  static XCodecConfig higgs();
  static XCodecConfig general();
  /// Reads sizes from tensors; a size that no tensor determines, such as the sample rate, is that
  /// of `published`. Throws LoadError for sizes that do not fit together.
  static XCodecConfig of(const Weights& weights, const XCodecConfig& published);
};

/// Reads the tensors below `weights` that decoding needs; ignores the encoder's tensors and
/// training buffers.
DacCodec load_xcodec(const XCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
