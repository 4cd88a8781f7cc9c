// The server-sent events of a speech stream, and base64 for their audio. The functions are
// thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "server/request/api_error.h"
#include "server/request/speech_call.h"

namespace syrinx {

/// Encodes base64: RFC 4648 with padding.
std::string base64(std::string_view bytes);
/// Decodes base64; accepts white space and missing padding. Returns nothing for other text.
std::optional<std::string> base64_decoded(std::string_view text);

/// Returns `data: {"type": "speech.audio.delta", "audio": ...}` with the empty line after it.
std::string audio_event(std::string_view bytes);
/// Returns the last event. input_tokens counts characters of the text, output_tokens frames of
/// audio. If the call requests word times and the model has them, they are {"begin", "end",
/// "start_s"}: bytes of the text and the start of the word's audio.
std::string done_event(const SpeechCall& call, const Outcome& outcome, const PipelineInfo& info);
std::string error_event(const ApiError& error);

}  // namespace syrinx
