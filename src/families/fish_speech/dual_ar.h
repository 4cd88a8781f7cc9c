// The two networks of Fish Speech's AR stage. The slow network, over text and frames, makes the
// first code of a step, or the end. The fast network makes the other codes, one after another. Free
// function; throws LoadError. Networks: fish-speech:fish_speech/models/text2semantic/llama.py.
#pragma once

#include <memory>

#include "families/fish_speech/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::fish_speech {

/// Loads both networks. `weights`: the root of the checkpoint, which must outlive the result,
/// because tables are not copied. Tables: the table of ids, then those of the C codebooks. The head
/// has rows only for the codes and the end.
std::unique_ptr<CodecLm> load_dual_ar(const ModelConfig& config, const Weights& weights,
                                      WeightType type);

}  // namespace syrinx::fish_speech
