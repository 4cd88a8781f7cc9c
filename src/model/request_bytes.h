// A request as bytes, for a process that holds some of the nodes that it opens: the same request
// makes the same sequences there. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

/// All that a pipeline reads of it. kUnsupported: a family's own task cannot be written down.
Result<std::string> request_bytes(const SpeechRequest& request);
/// Throws LoadError for anything that request_bytes() does not write. Takes memory for the bytes
/// that are there, not for the sizes that they claim.
SpeechRequest read_request(std::string_view bytes);

}  // namespace syrinx
