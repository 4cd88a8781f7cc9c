// Measures a StepProfile of a loaded model in this process. Measures first each stage alone with an
// executor, then a running engine, in which stages slow each other down. Blocks for some tens of
// seconds. One call at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/step_profile.h"
#include "runtime/runtime.h"

namespace syrinx {

struct MeasureOptions {
  LoadOptions load;       ///< its engine options give the threads and the largest batch
  SpeechRequest request;  ///< options of every request; each request sets its text and seed
  std::vector<std::string> texts;
  double seconds = 0.4;  ///< time for each batch size; a few steps are measured in any case
  std::function<void(const std::string&)> progress = {};
};

/// Measures the model. Throws LoadError when the model cannot be loaded or refuses the texts.
StepProfile measure_steps(const MeasureOptions& options);

}  // namespace syrinx
