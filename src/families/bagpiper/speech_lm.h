// The language model: a Qwen3 decoder. Its input row is a row of the audio tower, or the sum of the
// embeddings of S ids. Pads add nothing to the sum, except in the first stream. A step chooses an
// id for every stream with the same head: logits_s = W (h + e_s), one e_s per stream, e_0 = 0. Free
// function; throws LoadError. Source: espnet:espnet2/speechlm/model/speechlm/lm/parallel.py.
#pragma once

#include <memory>

#include "families/bagpiper/config.h"
#include "families/family.h"
#include "families/spoken/codec_lm.h"
#include "io/weights.h"

namespace syrinx::bagpiper {

/// `weights`: scope that contains "model."; must outlive the result, as the table is not copied.
std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 const LoadSpec& spec);

}  // namespace syrinx::bagpiper
