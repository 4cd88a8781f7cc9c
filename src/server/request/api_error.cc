#include "server/request/api_error.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/past_context.h"

namespace syrinx {
namespace {

const char* error_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

nlohmann::json null_if_empty(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

nlohmann::ordered_json to_json(const ApiError& error) {
  nlohmann::ordered_json out;
  out["message"] = error.message;
  out["type"] = error_type(error.status);
  out["param"] = null_if_empty(error.param);
  out["code"] = null_if_empty(error.code);
  return out;
}

/// Formats JSON; names from clients may contain any bytes.
std::string dump(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

ApiError bad_field(std::string param, std::string message) {
  return {.status = 400,
          .message = std::move(message),
          .param = std::move(param),
          .code = "invalid_value"};
}

ApiError unavailable(std::string message) {
  return {.status = 503,
          .message = std::move(message),
          .code = "server_is_overloaded",
          .retry_after_s = 1};
}

ApiError to_api_error(const Error& error) {
  ApiError out{.message = error.message, .param = error.param};
  switch (error.code) {
    case ErrorCode::kInvalid:
      out.code = is_past_context(error) ? "context_length_exceeded" : "invalid_value";
      break;
    case ErrorCode::kNotFound:
      out.status = error.param == "model" ? 404 : 400;
      out.code = error.param.empty() ? "not_found" : error.param + "_not_found";
      break;
    case ErrorCode::kUnsupported:
      out.code = "unsupported_value";
      break;
    case ErrorCode::kOverloaded:
    case ErrorCode::kCancelled:  // only a stopping server cancels a request before its audio
      out.status = 503;
      if (std::isinf(error.retry_after_s)) {
        out.code = "model_unavailable";
        break;
      }
      out.code = "server_is_overloaded";
      out.retry_after_s = std::max(1, static_cast<int>(std::ceil(error.retry_after_s)));
      break;
    case ErrorCode::kTimeout:
      out.status = 408;
      out.code = "timeout";
      break;
    case ErrorCode::kInternal:
      out.status = 500;
      out.code = "internal_error";
      out.message = "The server failed on this request; its log has the details.";
      break;
  }
  return out;
}

std::string error_object(const ApiError& error) { return dump(to_json(error)); }

std::string error_body(const ApiError& error) {
  nlohmann::ordered_json out;
  out["error"] = to_json(error);
  return dump(out) + "\n";
}

}  // namespace syrinx
