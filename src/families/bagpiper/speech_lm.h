// The language model: a Qwen3 decoder whose input row is the sum of the embeddings of S ids, of
// which pads add nothing in all streams but the first, or a row of what is heard; its step makes a
// choice of every stream with the one head, logits_s = W (h + e_s), e_0 = 0. Free function; throws
// LoadError. Source: espnet:espnet2/speechlm/model/speechlm/lm/parallel.py.
#pragma once

#include <memory>

#include "families/bagpiper/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::bagpiper {

/// `weights` is the scope that holds "model." and must outlive what is made: the table is not
/// copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::bagpiper
