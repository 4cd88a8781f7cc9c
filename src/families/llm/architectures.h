// The kinds of text models: how each kind's decoder differs from Llama's. A kind is a model_type
// and its class in transformers. That class gives the defaults for keys that a config.json
// lacks. Formulas:
// transformers:src/transformers/models/{llama,mistral,qwen2,qwen3,olmo2,smollm3,gemma2,
// gemma3,phi3}/modeling_*.py, configuration_*.py.
#pragma once

#include <string_view>

#include "families/llm/config.h"

namespace syrinx::llm {

struct Architecture {
  const char* type;  ///< model_type
  const char* name;  ///< the only entry of `architectures`
  bool tied;         ///< default value of tie_word_embeddings
  /// Sets the decoder's config, scale and cap. May lower max_positions, which is already set.
  /// Throws LoadError for values that this kind does not support.
  void (*describe)(const Config& root, ModelConfig& m);
};

/// Returns the kind of a config.json. Null if it is not a text model.
const Architecture* architecture_of(const Config& root);
/// Returns the kind of a model_type. Null if it is not supported.
const Architecture* architecture_of_type(std::string_view type);

}  // namespace syrinx::llm
