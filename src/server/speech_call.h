// The body of POST /v1/audio/speech: OpenAI's fields and Syrinx's extensions, checked and turned
// into a SpeechRequest. Knows no sockets; any thread. Every refusal names the field at fault.
#pragma once

#include <string_view>
#include <variant>

#include "audio/encoder.h"
#include "model/pipeline.h"
#include "model/request.h"
#include "server/api_error.h"

namespace syrinx {

/// A checked call. Without "seed" in the body the request has a random one.
struct SpeechCall {
  SpeechRequest request;
  /// How audio goes over the wire. Without "sample_rate" in the body, pcm is at 24 kHz, as OpenAI's
  /// clients take for granted, and other formats, which tell their rate, as near as they can to the
  /// model's.
  EncoderOptions audio;
  bool words = true;  ///< word times in the last event, where the model knows them
  bool sse = false;   ///< stream_format "sse": events with base64 audio instead of the bare bytes
};

/// Whether `name` means the loaded model: its own name, or one of OpenAI's speech models, which
/// existing clients ask for.
bool names_model(const PipelineInfo& info, std::string_view name);

/// Parses and checks a body. Unknown fields are ignored and null counts as absent; "model" and
/// "voice" may be left out.
std::variant<SpeechCall, ApiError> parse_speech_call(std::string_view body,
                                                     const PipelineInfo& info);

}  // namespace syrinx
