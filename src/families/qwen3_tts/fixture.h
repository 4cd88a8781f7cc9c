// For tests: the golden checkpoints.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "families/qwen3_tts/pipeline.h"
#include "families/qwen3_tts/state.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::qwen3_tts {

inline std::string golden_dir(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/" + name;
}

}  // namespace syrinx::qwen3_tts
