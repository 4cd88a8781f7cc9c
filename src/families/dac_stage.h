// The chunk stage of families that have a DAC codec.
#pragma once

#include "codec/dac_codec.h"
#include "families/codec_stage.h"

namespace syrinx {

using DacStage = CodecStage<DacCodec, DacCodecJob>;

}  // namespace syrinx
