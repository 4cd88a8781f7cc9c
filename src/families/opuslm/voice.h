// The name of the family, and its voices: frames at the beginning of a prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "families/opuslm/prompter.h"
#include "model/voice.h"

namespace syrinx::opuslm {

inline constexpr const char* kFamily = "opuslm";

/// Returns the ids [T, S] of a request's voice, made from its "codes" i32 [T, S], a unit and S - 1
/// codes per frame. Empty for a request without a voice. Free function; any thread.
Result<std::vector<int32_t>> voice_ids(const ModelConfig& config, const Prompter& prompter,
                                       const SpeechRequest& request);

}  // namespace syrinx::opuslm
