// The language model of CosyVoice2 and 3: a Qwen2 decoder over rows of three tables (Table), with
// one speech token per step. Free function; throws LoadError.
#pragma once

#include <memory>

#include "families/cosyvoice2/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::cosyvoice2 {

/// Loads the model. `weights`: llm.pt, which must outlive the result, as tables are not copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::cosyvoice2
