// Reports exceptions and errors to callers in C. Free functions; any thread.
#pragma once

#include <exception>
#include <new>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "library/syrinx.h"

namespace syrinx {

/// Fills `to`, which may be null. If the message is too long, cuts it, but never inside a UTF-8
/// character. Returns `code`.
int report(syrinx_error* to, int code, std::string_view message = {}, double retry_after_s = 0);
int report(syrinx_error* to, const Error& error);

/// Returns f(). If f() throws, reports the error and returns `failed`.
template <typename F>
auto without_throwing(syrinx_error* error, std::invoke_result_t<F> failed, F f) noexcept {
  try {
    report(error, SYRINX_OK);
    return f();
  } catch (const LoadError& fault) {
    report(error, SYRINX_LOAD, fault.what());
  } catch (const std::bad_alloc&) {
    report(error, SYRINX_INTERNAL, "out of memory");
  } catch (const std::exception& fault) {
    report(error, SYRINX_INTERNAL, fault.what());
  } catch (...) {
    report(error, SYRINX_INTERNAL, "an exception of an unknown type");
  }
  return failed;
}

}  // namespace syrinx
