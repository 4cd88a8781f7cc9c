// The tensors and settings of a text model, from any file layout.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "families/llm/config.h"
#include "io/weights.h"
#include "text/tokens/chat_template.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::llm {

struct Checkpoint {
  ModelConfig config;
  Tokenizer tokenizer;
  Generation generation;
  std::optional<ChatTemplate> chat;  ///< unset: the model does not accept messages
  std::unique_ptr<WeightSource> weights;
};

/// Opens a directory as transformers publishes it, or a GGUF file. Throws LoadError.
Checkpoint open_checkpoint(const LoadSpec& spec);

}  // namespace syrinx::llm
