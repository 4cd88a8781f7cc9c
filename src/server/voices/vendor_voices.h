// Lists voices for other vendors' clients, which look a voice up before they speak: for ElevenLabs
// GET /v1/voices, /v2/voices and /v1/voices/ID, for Cartesia GET /voices and /voices/ID. Free
// functions; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "server/request/reply.h"
#include "voices/voices.h"

namespace syrinx {

/// Returns whether a path is one of these vendors' paths.
bool is_vendor_voices(std::string_view path);
/// Answers GET at such a path; `query` has no question mark.
Reply answer_vendor_voices(std::string_view path, std::string_view query, const Speaker& speaker);

}  // namespace syrinx
