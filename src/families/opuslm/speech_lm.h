// The language model: an OLMo-2 or Llama decoder whose input row is the sum of the embeddings of S
// ids, and whose step makes a choice of every stream with the one head, logits_s = W (h + e_s), of
// which only the rows are computed that stream s may choose. Free function; throws LoadError.
// Source: espnet:espnet2/speechlm/core_lm/{ar_parallel,ar_delay}.py.
#pragma once

#include "families/opuslm/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::opuslm {

/// `weights` is the checkpoint's root, with ESPnet's names or those of its converter, and must
/// outlive what is made: the table is not copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type);

}  // namespace syrinx::opuslm
