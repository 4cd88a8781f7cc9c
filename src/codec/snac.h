// SNAC (hubertsiuzdak/snac_24khz): a DAC-like codec whose quantizers run at falling rates.
// Quantizer q gives one code for every strides[q] latent frames; here a frame is one latent frame
// with the code of every quantizer that covers it, so that the codec is DacCodec with noise and
// depthwise convolutions. Source: snac:snac/{snac,layers,vq}.py.
#pragma once

#include <string>
#include <vector>

#include "codec/dac_codec.h"
#include "io/json.h"

namespace syrinx {

struct SnacConfig {
  DacCodecConfig codec;
  std::vector<int64_t> strides{4, 2, 1};  ///< latent frames of one code, of each quantizer

  /// The published 24 kHz model.
  SnacConfig();
  /// From its config.json. Throws LoadError for what is missing, out of range or not supported
  /// (the local attention of the 32 and 44 kHz models).
  static SnacConfig load(const Config& root);
};

/// Reads the tensors of the decoder and of the quantizers; the encoder's are left out.
DacCodec load_snac(const SnacConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
