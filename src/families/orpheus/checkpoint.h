// The tensors and settings of an Orpheus checkpoint: a directory as transformers publishes it, or
// the language model as one GGUF file. Throws LoadError for what is missing, contradictory or not
// supported.
#pragma once

#include <memory>
#include <string>

#include "families/family.h"
#include "families/orpheus/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::orpheus {

struct Checkpoint {
  ModelConfig config;                     ///< all members except ids and block
  Tokenizer tokenizer;                    ///< with random weights perhaps one of bytes
  bool has_ids = true;                    ///< whether the tokenizer has the tokens of speech
  std::unique_ptr<WeightSource> weights;  ///< of the language model, by transformers' names
  std::string sizes;                      ///< path of the file that states the sizes
  std::string directory;                  ///< the folder in which parts such as the codec may lie
};

Checkpoint open_checkpoint(const LoadSpec& spec);

/// Returns whether a GGUF file is a Llama with the tokens of Orpheus. Throws LoadError for a broken
/// file.
bool claims_file(const std::string& path);

}  // namespace syrinx::orpheus
