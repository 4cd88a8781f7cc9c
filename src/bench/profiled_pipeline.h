// A model that takes what a StepProfile says: its requests have the profile's prompts, steps and
// frames, its frames and samples are silence. Its stages are never run; what that would take, the
// profile knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/step_profile.h"

namespace syrinx {

/// A request whose seed is u is utterance u of the profile, which outlives the pipeline. Audio has
/// as few samples a second as give a frame a whole number of them. Throws LoadError for a profile
/// whose links do not make a frame of each. `whole`: every node waits for all of what feeds it.
/// `apart`: names of nodes that run in another process. Throws LoadError where there is no such
/// node.
std::shared_ptr<const Pipeline> make_profiled_pipeline(const StepProfile& profile,
                                                       bool whole = false,
                                                       const std::vector<std::string>& apart = {});

}  // namespace syrinx
