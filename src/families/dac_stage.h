// The chunk stage of the families whose codec is of the DAC kind.
#pragma once

#include "codec/dac_codec.h"
#include "families/codec_stage.h"

namespace syrinx {

using DacStage = CodecStage<DacCodec, DacCodecJob>;

}  // namespace syrinx
