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
/// Throws LoadError for anything but what request_bytes() writes. Takes memory for what is there,
/// not for what is claimed.
SpeechRequest read_request(std::string_view bytes);

}  // namespace syrinx
