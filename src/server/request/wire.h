// What goes over the wire of a speech stream: server-sent events and their base64, and the usage
// that they end with. Free functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/engine.h"
#include "server/request/api_error.h"
#include "server/request/speech_call.h"

namespace syrinx {

/// RFC 4648 with padding.
std::string base64(std::string_view bytes);
/// The bytes again; white space and missing padding are forgiven, anything else gives nothing.
std::optional<std::string> base64_decoded(std::string_view text);

/// `data: {"type": "speech.audio.delta", "audio": ...}` with the empty line after it.
std::string audio_event(std::string_view bytes);
/// The last event. input_tokens counts the characters of the text, output_tokens frames of audio.
/// Word times, where the model has them and the call wants them, as {"begin", "end", "start_s"}:
/// bytes of the text and when they begin to sound.
std::string done_event(const SpeechCall& call, const Outcome& outcome, const PipelineInfo& info);
std::string error_event(const ApiError& error);

}  // namespace syrinx
