// The Descript Audio Codec as transformers publishes it (descript/dac_44khz, DacModel): its decoder
// and quantizers. Source: transformers:src/transformers/models/dac/{configuration,modeling}_dac.py.
#pragma once

#include "codec/dac_codec.h"
#include "io/json.h"

namespace syrinx {

/// Returns the sizes of the published 44.1 kHz model.
DacCodecConfig dac_44khz();
/// Reads sizes from config.json. Throws LoadError for a value that is missing, out of range or not
/// supported.
DacCodecConfig load_dac_config(const Config& root);

/// Reads the tensors of the decoder and of the quantizers; ignores the encoder's.
DacCodec load_dac(const DacCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
