// The language model of finch: a llama-type decoder whose rows are the sum of the last codes, of
// the symbols under the pointer and of a manner of speaking. A step yields a code of each book, and
// as values the logits of the pointer's moves.
#pragma once

#include <memory>

#include "families/finch/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::finch {

/// Scope `weights`: code.K, phone.K, phrase, place, age, layers.N..., norm, head.
std::unique_ptr<CodecLm> load_lm(const FinchConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::finch
