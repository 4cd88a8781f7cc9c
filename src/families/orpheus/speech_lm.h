// The language model: a Llama whose head makes only the ids that can be spoken. Free function;
// throws LoadError.
#pragma once

#include <memory>

#include "families/orpheus/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::orpheus {

/// `weights` is the root scope and must outlive what is made: its one table is not copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::orpheus
