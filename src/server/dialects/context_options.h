// Reads the options of a context from a client's message. A free function; any thread.
#pragma once

#include <variant>

#include "server/dialects/dialect.h"
#include "server/request/api_error.h"
#include "server/request/fields.h"

namespace syrinx {

/// Reads `fields`, which have the names and checks of POST /v1/audio/speech, except "input".
/// Without "sample_rate", raw audio has the model's rate. "model" must name the model of the
/// connection.
std::variant<ContextOptions, ApiError> context_options(const JsonIn& fields, const Speaker& speaker,
                                                       bool strict = false);

}  // namespace syrinx
