// The kinds of text models: how the decoder of each differs from Llama's. A kind is a model_type
// with its class in transformers; what a config.json leaves out is as that class has it. Formulas:
// transformers:src/transformers/models/{llama,mistral,qwen2,qwen3,olmo2,smollm3,gemma2,
// gemma3,phi3}/modeling_*.py, configuration_*.py.
#pragma once

#include <string_view>

#include "families/llm/config.h"

namespace syrinx::llm {

struct Architecture {
  const char* type;  ///< model_type
  const char* name;  ///< the only item of `architectures`
  bool tied;         ///< tie_word_embeddings where the config has none
  /// Fills the decoder's config, scale and cap; may shorten max_positions, which is read before.
  /// Throws LoadError for what this kind cannot have.
  void (*describe)(const Config& root, ModelConfig& m);
};

/// The kind of this config.json; null: another model.
const Architecture* architecture_of(const Config& root);
/// By model_type; null: unsupported.
const Architecture* architecture_of_type(std::string_view type);

}  // namespace syrinx::llm
