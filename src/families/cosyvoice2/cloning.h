// Makes voices from recordings for CosyVoice2 and 3, and reads voices of requests. In mode
// "zero-shot", the language model continues the recording and therefore needs its words. In mode
// "cross-lingual", only the flow uses the recording. Thread-safe. Source:
// CosyVoice:cosyvoice/cli/frontend.py.
#pragma once

#include <memory>
#include <string>

#include "families/cosyvoice2/config.h"
#include "families/cosyvoice2/frontend.h"
#include "families/cosyvoice2/voices.h"
#include "families/family.h"
#include "families/s3/cloning.h"

namespace syrinx::cosyvoice2 {

std::unique_ptr<const VoiceEncoder> make_cloning(const LoadSpec& spec, const ModelConfig& config);
/// Returns what the checkpoint lacks for cloning. Empty if it lacks nothing.
std::string missing_for_cloning(const LoadSpec& spec, const Edition& edition);

/// Reads untrusted voice data of a request. An Error says what does not fit.
Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config,
                       const Frontend& frontend, const S3Flow& flow);
/// Makes a voice from a CAM++ vector only.
Result<syrinx::Voice> speaker_voice(std::span<const float> vector, const ModelConfig& config);

}  // namespace syrinx::cosyvoice2
