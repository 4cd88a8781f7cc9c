// X-Codec from codes to samples: residual codebooks without a norm, a linear (fc2) of their sum,
// and DAC's decoder without its tanh. In the form bundled with Higgs Audio, each codebook has its
// own linear before the sum; this linear is merged with fc2 at load. The first X-Codec, bundled
// with Bagpiper, has no such linears. No config is published with the weights, so sizes are read
// from the tensors. Sources: transformers:src/transformers/models/{xcodec,higgs_audio_v2_tokenizer}
// (decode()).
#pragma once

#include "codec/dac_codec.h"
#include "io/weights.h"

namespace syrinx {

struct XCodecConfig {
  DacCodecConfig codec;
  int64_t width = 1024;  ///< width of fc2's input
  /// Whether each codebook has a linear to `width`. Otherwise the entries have width `width`.
  bool projected = true;

  /// Return the published sizes: of Higgs Audio's codec (24 kHz), and of
  /// hf-audio/xcodec-hubert-general (16 kHz).
  static XCodecConfig higgs();
  static XCodecConfig general();
  /// Reads sizes from tensors. Sizes that no tensor determines, such as the sample rate, are copied
  /// from `published`. Throws LoadError for sizes that contradict each other.
  static XCodecConfig of(const Weights& weights, const XCodecConfig& published);
};

/// Loads the tensors of `weights` that decoding needs. Ignores the encoder's tensors and training
/// buffers.
DacCodec load_xcodec(const XCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
