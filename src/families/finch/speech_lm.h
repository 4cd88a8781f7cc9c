// The language model of finch: a Llama-type decoder whose rows are sums of the last codes, the
// symbols at the pointer and a manner of speaking. A step yields a code of each codebook. Its
// values are the logits of the pointer's moves.
#pragma once

#include <memory>

#include "families/finch/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::finch {

/// Loads the LM from the scope of `weights`: code.K, phone.K, phrase, place, age, layers.N...,
/// norm, head.
std::unique_ptr<CodecLm> load_lm(const FinchConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::finch
