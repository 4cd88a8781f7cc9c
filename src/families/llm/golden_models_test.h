// For tests of text models: the small checkpoints of tests/parity/llm.
#pragma once

#include <string>

#include "families/llm/pipeline.h"

namespace syrinx::llm {

/// Returns the folder of a small checkpoint by its type: "llama", "qwen2", "qwen3", "quantized".
inline std::string golden_dir(const std::string& type) {
  return SYRINX_BINARY_DIR "/parity/llm/" + type;
}

/// Returns the arguments that load a checkpoint in f32.
inline LoadSpec spec(const std::string& type) {
  return {golden_dir(type), "tiny", WeightType::kF32};
}

}  // namespace syrinx::llm
