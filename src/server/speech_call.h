// The body of POST /v1/audio/speech: OpenAI's fields and Syrinx's extensions, checked and turned
// into a SpeechRequest. Knows no sockets; any thread. Every refusal names the field at fault.
#pragma once

#include <string_view>
#include <variant>

#include "model/pipeline.h"
#include "model/request.h"
#include "server/api_error.h"

namespace syrinx {

/// How audio goes over the wire. Both are 16-bit mono at the model's rate; kWav begins with a
/// header.
enum class AudioFormat { kWav, kPcm };

/// "audio/wav", "audio/pcm"; static storage.
const char* mime_type(AudioFormat format);

/// A checked call. Without "seed" in the body the request has a random one.
struct SpeechCall {
  SpeechRequest request;
  AudioFormat format = AudioFormat::kWav;
  bool sse = false;  ///< stream_format "sse": events with base64 audio instead of the bare bytes
};

/// Whether `name` means the loaded model: its own name, or one of OpenAI's speech models, which
/// existing clients ask for.
bool names_model(const PipelineInfo& info, std::string_view name);

/// Parses and checks a body. Unknown fields are ignored and null counts as absent; "model" and
/// "voice" may be left out.
std::variant<SpeechCall, ApiError> parse_speech_call(std::string_view body,
                                                     const PipelineInfo& info);

}  // namespace syrinx
