// For tests: a checkpoint that a test may change.
#pragma once

#include <string>

#include "families/checkpoint_copy.h"
#include "families/qwen3_tts/fixture.h"

namespace syrinx::qwen3_tts {

/// A copy of a golden checkpoint that a test changes. fault(): the error of loading it, if any.
struct QwenCopy : CheckpointCopy {
  explicit QwenCopy(const std::string& name) : CheckpointCopy(golden_dir(name) + "/checkpoint") {}
  std::string fault(bool dummy = false) const {
    return load_fault_of([&] { Qwen3Tts model({dir.path(), "copy", WeightType::kF32, dummy}); });
  }
};

}  // namespace syrinx::qwen3_tts
