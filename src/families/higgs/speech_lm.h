// The language model: a Qwen3 decoder over ids of text and steps of codes, whose step makes a code
// of every codebook by independent heads, tied with the codebooks' tables. Free function; throws
// LoadError. Source: sglang-omni:sglang_omni/models/higgs_tts/{model,modeling}.py.
#pragma once

#include "families/higgs/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::higgs {

/// `weights` is the checkpoint's root and must outlive what is made: tables are not copied. They
/// are that of the ids, then those of the C codebooks.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::higgs
