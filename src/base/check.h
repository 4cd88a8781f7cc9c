// Checks of assumptions inside the program. A failed check is a bug and throws InternalError, which
// the engine catches around a step. For invalid input, see base/error.h.
#pragma once

#include <sstream>
#include <string>

#include "base/error.h"

namespace syrinx {

/// Joins the arguments as text: concat("x [", 4, "]") is "x [4]".
template <typename... Args>
std::string concat(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return std::move(out).str();
}

/// Throws InternalError with file, line and `what`; called by SYRINX_CHECK.
[[noreturn]] void check_failed(const char* file, int line, const std::string& what);

}  // namespace syrinx

/// Throws InternalError unless `condition` holds. The further arguments become the message.
#define SYRINX_CHECK(condition, ...)                                                         \
  do {                                                                                       \
    if (!(condition)) [[unlikely]]                                                           \
      ::syrinx::check_failed(__FILE__, __LINE__,                                             \
                             ::syrinx::concat(#condition __VA_OPT__(, ": ", ) __VA_ARGS__)); \
  } while (false)
