// The decoder and quantizers of the Descript Audio Codec as in transformers (descript/dac_44khz).
// Source: transformers:src/transformers/models/dac/{configuration,modeling}_dac.py.
#pragma once

#include "codec/dac_codec.h"
#include "io/json.h"

namespace syrinx {

/// Returns the sizes of the published 44.1 kHz model.
DacCodecConfig dac_44khz();
/// Reads sizes from config.json. Throws LoadError for a value that is missing, out of range or
/// unsupported.
DacCodecConfig load_dac_config(const Config& root);

/// Loads the tensors of the decoder and the quantizers; ignores those of the encoder.
DacCodec load_dac(const DacCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
