// The tensors and settings of a text model, from any file layout.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "families/family.h"
#include "families/llm/config.h"
#include "io/weights.h"
#include "text/tokens/chat_template.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

/// A language model.
struct StoredModel {
  ModelConfig config;
  Tokenizer tokenizer;                    ///< with random weights and no file: byte_tokenizer()
  std::unique_ptr<WeightSource> weights;  ///< with transformers' names
};
/// Opens a directory as transformers publishes it, or a GGUF file. `words`: tokens of a
/// byte_tokenizer(). Throws LoadError.
StoredModel open_model(const LoadSpec& spec, std::span<const std::string> words = {});

/// A language model with what its answers need.
struct Checkpoint {
  StoredModel model;
  Generation generation;
  std::optional<ChatTemplate> chat;  ///< unset: the model does not accept messages
};
/// Opens what open_model() opens, and reads what answers need. Throws LoadError.
Checkpoint open_checkpoint(const LoadSpec& spec);

}  // namespace syrinx::llm
