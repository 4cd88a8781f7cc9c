// The fields of a body of speech that say which voice speaks, and which voices spoke before: names,
// recordings, embeddings, earlier turns. Throws ApiError. Any thread.
#pragma once

#include "server/request/object_fields.h"
#include "server/request/speech_call.h"

namespace syrinx {

/// Reads a voice that comes with the request, in the words of vLLM-Omni and SGLang-Omni, or else
/// "voice", into `call`.
void read_voice_fields(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

/// Reads the earlier turns of the conversation; their recordings are fetched beside the voices.
void read_context(const JsonFields& fields, const Speaker& speaker, SpeechCall& call);

}  // namespace syrinx
