// Voices: prompts that the flow continues. The authors' program receives a recording with each
// request. Here, a checkpoint's recordings (assets/NAME.wav) are named voices, encoded when the
// checkpoint is loaded. A folder "voices" may have files that `syrinx voice` made, and a request
// may contain a voice. Const once made; any thread.
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

/// Makes the voice encoder. Returns null if networks are missing; `missing` gets their names.
std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const S3FlowConfig& flow,
                                                 std::string& missing);
/// Loads the checkpoint's voices. Loads recordings only if an encoder exists. Throws LoadError.
Voices load_voices(const LoadSpec& spec, const S3Flow& flow, const VoiceEncoder* encoder);
/// Reads untrusted voice data of a request. Returns an Error for data that does not fit.
Result<std::shared_ptr<const S3FlowVoice>> voice_of(const Voice& data, const S3Flow& flow);

}  // namespace syrinx::step_audio2
