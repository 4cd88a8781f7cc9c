// Reads the fields for the voice of a request, and its earlier turns with their voices: names,
// recordings, embeddings. Throws ApiError. Thread-safe.
#pragma once

#include "server/request/object_fields.h"
#include "server/request/speech_call.h"

namespace syrinx {

/// Reads the request's voice into `call`: a recording or embedding in the fields of vLLM-Omni and
/// SGLang-Omni, otherwise the field "voice".
void read_voice_fields(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

/// Reads the earlier turns of the conversation. Their recordings are fetched together with the
/// request's voices.
void read_context(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

}  // namespace syrinx
