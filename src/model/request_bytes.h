// A request as bytes, for another process that holds some of its nodes: the same bytes open the
// same sequences there. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

/// Writes all fields that a pipeline reads. kUnsupported: a family's own task has no bytes.
Result<std::string> request_bytes(const SpeechRequest& request);
/// Throws LoadError for anything that request_bytes() does not write. Allocates no
/// more than the given bytes need, whatever sizes they state.
SpeechRequest read_request(std::string_view bytes);

}  // namespace syrinx
