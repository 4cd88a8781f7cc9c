// X-Codec from codes to samples: residual codebooks without a norm, their sum through a linear
// (fc2), and DAC's decoder without its tanh. As Higgs Audio bundles it, each codebook has a linear
// of its own before the sum, which is joined with fc2 at load; the first X-Codec, as Bagpiper
// bundles it, has none. Its config is not published with the weights, so sizes are read off the
// tensors. Sources: transformers:src/transformers/models/{xcodec,higgs_audio_v2_tokenizer}
// (decode()).
#pragma once

#include "codec/dac_codec.h"
#include "io/weights.h"

namespace syrinx {

struct XCodecConfig {
  DacCodecConfig codec;
  int64_t width = 1024;   ///< before fc2
  bool projected = true;  ///< codebooks have linears of their own, to `width`; else it is theirs

  /// The published sizes of Higgs Audio's, 24 kHz, and of hf-audio/xcodec-hubert-general, 16 kHz.
  static XCodecConfig higgs();
  static XCodecConfig general();
  /// `published`, where no tensor says otherwise; none has the sample rate. Throws LoadError for
  /// sizes that do not fit together.
  static XCodecConfig of(const Weights& weights, const XCodecConfig& published);
};

/// Reads the tensors that decoding needs below `weights`; what only encoding does is left out, and
/// the buffers of the training are.
DacCodec load_xcodec(const XCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
