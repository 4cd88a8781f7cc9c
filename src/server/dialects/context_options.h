// How a context speaks, read from a client's message. A free function; any thread.
#pragma once

#include <variant>

#include "server/dialects/dialect.h"
#include "server/request/api_error.h"
#include "server/request/fields.h"

namespace syrinx {

/// Checks `fields`, named as in POST /v1/audio/speech without "input", as that endpoint does.
/// Without "sample_rate" raw audio is at the model's rate. A "model" must be the connection's.
std::variant<ContextOptions, ApiError> context_options(const JsonIn& fields, const Speaker& speaker,
                                                       bool strict = false);

}  // namespace syrinx
