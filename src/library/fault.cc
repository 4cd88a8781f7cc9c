#include "library/fault.h"

#include <algorithm>
#include <cstring>

namespace syrinx {
namespace {

int code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid:
      return SYRINX_INVALID;
    case ErrorCode::kNotFound:
      return SYRINX_NOT_FOUND;
    case ErrorCode::kUnsupported:
      return SYRINX_UNSUPPORTED;
    case ErrorCode::kOverloaded:
      return SYRINX_OVERLOADED;
    case ErrorCode::kCancelled:
      return SYRINX_CANCELLED;
    case ErrorCode::kTimeout:
      return SYRINX_TIMEOUT;
    case ErrorCode::kInternal:
      break;
  }
  return SYRINX_INTERNAL;
}

}  // namespace

int report(syrinx_error* to, int code, std::string_view message, double retry_after_s) {
  if (to == nullptr) return code;
  size_t size = std::min(message.size(), sizeof to->message - 1);
  while (size < message.size() && size > 0 && (message[size] & 0xC0) == 0x80) --size;
  *to = {.code = code, .reserved = 0, .retry_after_s = retry_after_s, .message = {}};
  std::memcpy(to->message, message.data(), size);
  return code;
}

int report(syrinx_error* to, const Error& error) {
  return report(to, code_of(error.code), error.message, error.retry_after_s);
}

}  // namespace syrinx
