// The language model: an OLMo-2 or Llama decoder whose input row is the sum of the embeddings of S
// ids. A step chooses an id for every stream with the same head: logits_s = W (h + e_s), where e_s
// is the vector of stream s. Only the rows that stream s may choose are computed. Free function;
// throws LoadError. Source: espnet:espnet2/speechlm/core_lm/{ar_parallel,ar_delay}.py.
#pragma once

#include "families/family.h"
#include "families/opuslm/config.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::opuslm {

/// Loads the model. `weights`: root of the checkpoint, with ESPnet's names or those of its
/// converter. Must outlive the result, because the table is not copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 const LoadSpec& spec);

}  // namespace syrinx::opuslm
