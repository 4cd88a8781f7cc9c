// Errors in the form of OpenAI's API: a status and {"error": {message, type, param, code}}. Plain
// data and free functions; thread-safe.
#pragma once

#include <string>

#include "base/error.h"

namespace syrinx {

/// The error of a failed HTTP request. Empty param and code are sent as null.
struct ApiError {
  int status = 400;
  std::string message;
  std::string param = {};
  std::string code = {};
  int retry_after_s = 0;  ///< seconds; sent as Retry-After if above 0
};

/// Returns status 400 with code "invalid_value" for a field of the body.
ApiError bad_field(std::string param, std::string message);
/// Returns status 503, for a server that starts or stops.
ApiError unavailable(std::string message);

/// Converts an Error of the engine; hides the message of an internal error. kOverloaded with an
/// infinite retry_after_s: waiting does not help, so no Retry-After is sent.
ApiError to_api_error(const Error& error);

/// Returns {"message", "type", "param", "code"}. The status determines the type.
std::string error_object(const ApiError& error);
/// Returns the whole body: {"error": error_object}.
std::string error_body(const ApiError& error);

}  // namespace syrinx
