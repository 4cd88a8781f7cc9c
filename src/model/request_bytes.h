// Converts a request to bytes, for another process that has some of its nodes: equal bytes open
// equal sequences there. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

/// Writes all fields that a pipeline reads. kUnsupported if the request has a FamilyTask, which
/// cannot be written.
Result<std::string> request_bytes(const SpeechRequest& request);
/// Reads a request. Throws LoadError for anything that request_bytes() does not write. Allocates no
/// more than the given bytes need, whatever sizes they state.
SpeechRequest read_request(std::string_view bytes);

}  // namespace syrinx
