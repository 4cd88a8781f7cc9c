// Errors as OpenAI's clients know them: a status and {"error": {message, type, param, code}}.
// Plain data and free functions; any thread.
#pragma once

#include <string>

#include "base/error.h"

namespace syrinx {

/// What a failed HTTP request is answered with. Empty param and code are sent as null.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};
  std::string code = {};
  int retry_after_s = 0;  ///< > 0: sent as Retry-After
};

/// 400 with code "invalid_value" for a field of the body.
ApiError bad_field(std::string param, std::string message);
/// 503, for a server that is starting or stopping.
ApiError unavailable(std::string message);

/// The answer to an Error of the engine. The message of an internal error stays inside. kOverloaded
/// with an infinite retry_after_s: waiting does not help, and no Retry-After is sent.
ApiError to_api_error(const Error& error);

/// {"message", "type", "param", "code"}; the type follows from the status.
std::string error_object(const ApiError& error);
/// The whole body: {"error": error_object}.
std::string error_body(const ApiError& error);

}  // namespace syrinx
