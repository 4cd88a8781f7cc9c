// The networks of CSM's AR stage: the backbone, whose head makes code 0 of a step, and the depth
// decoder, which makes the other codes one after another. Free function; throws LoadError.
#pragma once

#include <memory>

#include "families/csm/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::csm {

/// Loads both networks. `weights`: the root of the checkpoint, which must outlive the result, as
/// tables are not copied. Tables: that of the text, then those of the C codebooks.
std::unique_ptr<CodecLm> load_backbone(const ModelConfig& config, const Weights& weights,
                                       WeightType type);

}  // namespace syrinx::csm
