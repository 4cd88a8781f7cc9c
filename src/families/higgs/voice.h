// A voice of this family: frames of the codec that the model hears as a reference, with the words
// in them where they are known. Free functions; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "families/higgs/config.h"
#include "model/voice.h"

namespace syrinx::higgs {

inline constexpr const char* kFamily = "higgs_audio";
inline constexpr double kMostSeconds = 60;  ///< of a reference

/// The frames [T, C] of a voice ("codes" i32), or why it is none for this model. `most`: frames.
Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice,
                                         int64_t most);

}  // namespace syrinx::higgs
