// The tensors and settings of an Orpheus checkpoint: a directory as transformers publishes it, or a
// GGUF file with the language model. Throws LoadError for values that are missing, contradictory or
// not supported.
#pragma once

#include <memory>
#include <string>

#include "families/family.h"
#include "families/orpheus/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::orpheus {

struct Checkpoint {
  ModelConfig config;                     ///< all fields except ids and block
  Tokenizer tokenizer;                    ///< with random weights possibly a tokenizer of bytes
  bool has_ids = true;                    ///< whether the tokenizer contains the tokens of speech
  std::unique_ptr<WeightSource> weights;  ///< the language model's, with transformers' names
  std::string sizes;                      ///< path of the file that states the sizes
  std::string directory;                  ///< folder that may contain parts, such as the codec
};

Checkpoint open_checkpoint(const LoadSpec& spec);

/// Returns whether a GGUF file has a Llama with the tokens of Orpheus. Throws LoadError for a
/// broken file.
bool claims_file(const std::string& path);

}  // namespace syrinx::orpheus
