// What the family calls itself, and its voices: frames that a prompt begins with.
#pragma once

#include <cstdint>
#include <vector>

#include "families/opuslm/prompter.h"
#include "model/voice.h"

namespace syrinx::opuslm {

inline constexpr const char* kFamily = "opuslm";

/// The ids [T, S] of a voice, "codes" i32 [T, S] (a unit and S - 1 codes a frame), or why it is
/// none for this model. Free function; any thread.
Result<std::vector<int32_t>> voice_ids(const ModelConfig& config, const Prompter& prompter,
                                       const Voice& voice);

}  // namespace syrinx::opuslm
