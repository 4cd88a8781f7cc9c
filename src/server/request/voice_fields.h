// Reads the fields for the voice of a request, and its earlier turns with their voices: names,
// recordings, embeddings. Throws ApiError. Any thread.
#pragma once

#include "server/request/object_fields.h"
#include "server/request/speech_call.h"

namespace syrinx {

/// Reads a voice that the request contains, with the field names of vLLM-Omni and SGLang-Omni, or
/// else "voice", into `call`.
void read_voice_fields(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

/// Reads the earlier turns of the conversation; their recordings are fetched together with the
/// voices.
void read_context(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

}  // namespace syrinx
