// Converts request options of the command line to fields of a request body, for commands that send
// requests to servers. Free function; any thread.
#pragma once

#include <string>

#include "model/request.h"

namespace syrinx {

/// Returns a JSON object with the options that are set and the fields of `extra` (a JSON object or
/// ""); "" if there are none. The seed is always a field if `with_seed` is set, otherwise never.
/// Throws UsageError if `extra` is not an object or repeats an option, or if an option has no field
/// in bodies.
std::string request_fields(const SpeechRequest& request, const std::string& extra, bool with_seed);

}  // namespace syrinx
