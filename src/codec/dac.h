// The Descript Audio Codec as transformers publishes it (descript/dac_44khz, DacModel): its decoder
// and quantizers. Source: transformers:src/transformers/models/dac/{configuration,modeling}_dac.py.
#pragma once

#include "codec/dac_codec.h"
#include "io/json.h"

namespace syrinx {

/// The published 44.1 kHz model.
DacCodecConfig dac_44khz();
/// From config.json. Throws LoadError for what is missing, out of range or not supported.
DacCodecConfig load_dac_config(const Config& root);

/// Reads the tensors of the decoder and of the quantizers; the encoder's are left out.
DacCodec load_dac(const DacCodecConfig& config, const Weights& weights, WeightType type);

}  // namespace syrinx
