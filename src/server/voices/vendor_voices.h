// Lists voices for other vendors' clients, which look up a voice before they use it. ElevenLabs:
// GET /v1/voices, /v2/voices and /v1/voices/ID. Cartesia: GET /voices and /voices/ID. Free
// functions; thread-safe.
#pragma once

#include <optional>
#include <string_view>

#include "server/request/reply.h"
#include "voices/voices.h"

namespace syrinx {

/// Returns whether a path belongs to ElevenLabs' or Cartesia's lists of voices.
bool is_vendor_voices(std::string_view path);
/// Answers GET for such a path; `query` has no question mark.
Reply answer_vendor_voices(std::string_view path, std::string_view query, const Speaker& speaker);

}  // namespace syrinx
