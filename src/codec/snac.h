// SNAC (hubertsiuzdak/snac_24khz): a codec like DAC whose quantizers run at different rates.
// Quantizer q has one code for every strides[q] latent frames. Here a frame is one latent frame
// with the code of each quantizer for it, so the codes of slow quantizers repeat. SNAC is thus a
// DacCodec with noise and depthwise convolutions. Source: snac:snac/{snac,layers,vq}.py.
#pragma once

#include <string>
#include <vector>

#include "codec/dac_codec.h"
#include "io/json.h"

namespace syrinx {

struct SnacConfig {
  DacCodecConfig codec;
  std::vector<int64_t> strides{4, 2, 1};  ///< latent frames per code of each quantizer

  /// Has the sizes of the published 24 kHz model.
  SnacConfig();
  /// Reads sizes from config.json. Throws LoadError for a value that is missing, out of range or
  /// unsupported (the local attention of the 32 and 44 kHz models).
  static SnacConfig load(const Config& root);
};

/// Loads the tensors of the decoder and the quantizers; ignores those of the encoder.
DacCodec load_snac(const SnacConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
