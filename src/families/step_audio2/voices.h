// Voices: prompts that the flow continues. The authors' program takes a recording with each
// request. Here, a checkpoint's recordings (assets/NAME.wav) are its voices by name, encoded when
// it is loaded. Files made by `syrinx voice` may be in a folder "voices", and a request may contain
// a voice. Const once made; any thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "codec/s3_flow.h"
#include "families/family.h"
#include "model/voice.h"

namespace syrinx::step_audio2 {

using Voices = std::map<std::string, std::shared_ptr<const S3FlowVoice>>;

inline constexpr const char* kFamily = "step_audio2";

/// Makes the voice encoder; null if networks are missing, which `missing` names.
std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const S3FlowConfig& flow,
                                                 std::string& missing);
/// Loads the checkpoint's voices; recordings only if there is an encoder. Throws LoadError.
Voices load_voices(const LoadSpec& spec, const S3Flow& flow, const VoiceEncoder* encoder);
/// Reads voice data of a request, which is not trusted.
Result<std::shared_ptr<const S3FlowVoice>> voice_of(const Voice& data, const S3Flow& flow);

}  // namespace syrinx::step_audio2
