// Opens the files of a checkpoint: a published directory, or the GGUF files of qwentts.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "families/family.h"
#include "families/qwen3_tts/config.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::qwen3_tts {

struct Checkpoint {
  ModelConfig config;
  Tokenizer tokenizer;
  std::string codec_path;       ///< file of the codec's config, for messages
  std::optional<Config> codec;  ///< config of the codec; random weights may lack it
  /// Open the tensors of the model and of the codec, under their published names.
  std::function<std::unique_ptr<WeightSource>()> weights, codec_weights;
};

/// Reads the configs and the tokenizer. Throws LoadError.
Checkpoint open_checkpoint(const LoadSpec& spec);

}  // namespace syrinx::qwen3_tts
