// The two networks of Fish Speech's AR stage: the slow one, over text and frames, gives the first
// code of a step or the end; the fast one gives the other codes, one after another. Free function;
// throws LoadError. Networks: fish-speech:fish_speech/models/text2semantic/llama.py.
#pragma once

#include <memory>

#include "families/fish_speech/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::fish_speech {

/// `weights` is the checkpoint's root and must outlive the result: tables are not copied. Tables:
/// that of the ids, then those of the C codebooks. The head has rows only for the codes and the
/// end.
std::unique_ptr<CodecLm> load_dual_ar(const ModelConfig& config, const Weights& weights,
                                      WeightType type);

}  // namespace syrinx::fish_speech
