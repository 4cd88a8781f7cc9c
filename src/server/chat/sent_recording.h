// Decodes a recording in a message of a chat: bytes of any common file format in base64. Neither
// trims nor amplifies the audio. Free function; any thread.
#pragma once

#include <memory>
#include <string_view>

#include "audio/recording.h"
#include "base/error.h"
#include "model/voice.h"

namespace syrinx {

/// Decodes at most `limits.max_s` seconds, at the recording's own rate. Uses the helper's processes
/// if `limits` has a helper. Errors describe the fault without naming a field.
Result<std::shared_ptr<const Recording>> sent_recording(std::string_view base64,
                                                        RecordingLimits limits);

}  // namespace syrinx
