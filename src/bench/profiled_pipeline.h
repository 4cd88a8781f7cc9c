// A model made from a StepProfile. Its requests have the profile's prompts, steps and frames. Its
// frames and samples are silence. Its stages are never run; the profile has their costs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/step_profile.h"

namespace syrinx {

/// Makes the pipeline. A request with seed u is utterance u of the profile, which must outlive the
/// pipeline. The sample rate is the lowest at which each frame has a whole number of samples.
/// `whole`: every node waits for all frames of its input. `apart`: names of nodes that run in
/// another process. Throws LoadError for an unknown node, or if a link of the profile does not make
/// one frame from each frame.
std::shared_ptr<const Pipeline> make_profiled_pipeline(const StepProfile& profile,
                                                       bool whole = false,
                                                       const std::vector<std::string>& apart = {});

}  // namespace syrinx
