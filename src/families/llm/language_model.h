// The network of a text model: an embedding table, a stack of Llama-type blocks, and a head over
// the whole vocabulary.
#pragma once

#include <memory>

#include "families/llm/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::llm {

/// Loads the network. `weights` has the scope of config.names and must outlive the network (the
/// table is not copied). `tap_block`: rows before this block are tapped; -1: no taps. `ids`: those
/// for which the head has logits; if empty, all of them, and steps may have drafts.
std::unique_ptr<CodecLm> load_language_model(const ModelConfig& config, const Weights& weights,
                                             WeightType type, int tap_block = -1, IdRange ids = {});

}  // namespace syrinx::llm
