// A recording in a message of a chat, as bytes of any common file format in base64. Free function;
// any thread. It is heard as it is: nothing is cut away or made louder.
#pragma once

#include <memory>
#include <string_view>

#include "audio/recording.h"
#include "base/error.h"
#include "model/voice.h"

namespace syrinx {

/// Decodes at most `limits.max_s` seconds, at its own rate, by the helper's children where there
/// is one. Errors say what is wrong with it, without a field.
Result<std::shared_ptr<const Recording>> sent_recording(std::string_view base64,
                                                        RecordingLimits limits);

}  // namespace syrinx
