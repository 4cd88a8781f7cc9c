// Converts a request to bytes for another process, which holds some nodes of the model. Equal bytes
// open equal sequences there. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "model/request.h"

namespace syrinx {

/// Writes all fields that a pipeline reads. Returns kUnsupported if the request has a FamilyTask,
/// which cannot be written.
Result<std::string> request_bytes(const SpeechRequest& request);
/// Reads a request. Throws LoadError for bytes that request_bytes() cannot write. Allocates no more
/// than the given bytes need, whatever sizes they state.
SpeechRequest read_request(std::string_view bytes);

}  // namespace syrinx
