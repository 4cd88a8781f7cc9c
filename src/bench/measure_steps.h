// Measures a StepProfile of a loaded model in this process: each stage alone, with an executor of
// the engine, and then a running engine, to see what the stages cost in each other's company.
// Blocks for some tens of seconds. One call at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/step_profile.h"
#include "runtime/runtime.h"

namespace syrinx {

struct MeasureOptions {
  LoadOptions load;       ///< its engine options say threads and the largest batch
  SpeechRequest request;  ///< what every request takes; text and seed are filled in
  std::vector<std::string> texts;
  double seconds = 0.4;  ///< for each batch size; at least a few steps are taken
  std::function<void(const std::string&)> progress = {};
};

/// Throws LoadError when the model cannot be loaded or refuses the texts.
StepProfile measure_steps(const MeasureOptions& options);

}  // namespace syrinx
