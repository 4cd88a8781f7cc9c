// Voices: prompts that the flow continues. The authors give a recording with each request; here the
// recordings that come with the checkpoint (assets/NAME.wav) are the voices by name, encoded when
// it is loaded, files made by `syrinx voice` may lie in a folder "voices", and a request may bring
// its own. Const once made; any thread.
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

/// The encoder of voices. Null where the encoders are not there; `missing` says which.
std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const S3FlowConfig& flow,
                                                 std::string& missing);
/// Those of the checkpoint; recordings only where there is an encoder. Throws LoadError.
Voices load_voices(const LoadSpec& spec, const S3Flow& flow, const VoiceEncoder* encoder);
/// A voice that came with a request, whose numbers may be anybody's.
Result<std::shared_ptr<const S3FlowVoice>> voice_of(const Voice& data, const S3Flow& flow);

}  // namespace syrinx::step_audio2
