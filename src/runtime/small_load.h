// For tests: small models with f32 weights, two threads, and without the check for repetitions.
// Engines with golden checkpoints never pause a request because its audio is unread.
#pragma once

#include <memory>
#include <string>

#include "runtime/runtime.h"

namespace syrinx {

/// Returns the options for loading a built-in model or a checkpoint's directory.
inline LoadOptions small_load(const std::string& model) {
  LoadOptions load;
  load.model = model;
  load.voices_dir = SYRINX_SOURCE_DIR "/voices";
  load.weights = "f32";
  load.engine.threads = 2;
  load.engine.repetition_s = 0;
  return load;
}

/// Returns `options` with two threads, without pauses for unread audio or checks for repetitions.
inline EngineOptions unhurried(EngineOptions options) {
  options.threads = 2;
  options.max_unread_s = 1e9;
  options.repetition_s = 0;
  return options;
}

/// Loads a checkpoint with f32 weights, its original type, or with weights of another type.
inline std::unique_ptr<Engine> golden_engine(const std::string& checkpoint,
                                             const EngineOptions& options = {},
                                             const std::string& weights = "f32") {
  LoadOptions load = small_load(checkpoint);
  load.weights = weights;
  load.engine = unhurried(options);
  return load_engine(load);
}

}  // namespace syrinx
