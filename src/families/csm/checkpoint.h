// Opens the files of a checkpoint: a published directory, or the GGUF files of llama.cpp.
#pragma once

#include <memory>

#include "families/csm/config.h"
#include "families/family.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::csm {

struct Checkpoint {
  ModelConfig config;
  Defaults defaults;
  Tokenizer tokenizer;
  std::unique_ptr<WeightSource> weights;  ///< tensors under their names in transformers
};

/// Reads the configs and the tokenizer, and opens the weights. Throws LoadError.
Checkpoint open_checkpoint(const LoadSpec& spec);

}  // namespace syrinx::csm
