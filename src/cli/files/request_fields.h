// The options of a request on the command line as fields of the body of a request for speech, for
// commands that send bodies to servers. Free function; any thread.
#pragma once

#include <string>

#include "model/request.h"

namespace syrinx {

/// The options that are set and what `extra` says, a JSON object or "", as one object; "" when
/// neither says anything. A seed is left out unless `with_seed`. Throws UsageError where `extra` is
/// not an object or says what an option says, and for options that no body has.
std::string request_fields(const SpeechRequest& request, const std::string& extra, bool with_seed);

}  // namespace syrinx
