// Errors of requests and of loading. An error of a request is returned as a value (Result<T>). A
// checkpoint that cannot be loaded throws LoadError. A bug throws InternalError (see base/check.h).
// Messages are for users: they describe what failed, what was expected and what was found.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace syrinx {

/// The kinds of errors that callers distinguish.
enum class ErrorCode {
  kInvalid,      ///< the request is malformed; do not retry unchanged
  kNotFound,     ///< the named model or voice does not exist
  kUnsupported,  ///< well-formed, but this model does not support it
  kOverloaded,   ///< no capacity now; retry later
  kCancelled,    ///< the client disconnected or cancelled the request
  kTimeout,      ///< the client did not read or write in time
  kInternal,     ///< an internal error of this program
};

/// Returns the lower-case name of a code, e.g. "invalid"; static storage.
const char* error_code_name(ErrorCode code);

/// The reason why a request failed. `param` is the name of the invalid field, or empty.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
  std::string param = {};
  /// Seconds after which to retry, with kOverloaded; 0 if unknown.
  double retry_after_s = 0;
};

/// Reports a checkpoint, config or voice file that cannot be used. The message has file, entry,
/// expected and actual value.
class LoadError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports a failed check, i.e. a bug. It fails one batch, not the process.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A value or an Error. Call value() only if ok() is true (otherwise InternalError).
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  /// Converts from a Result of a type that converts to T, e.g. a pointer to a derived class.
  template <typename U>
  requires(!std::is_same_v<T, U> && std::is_convertible_v<U, T>)
      Result(Result<U> other)  // NOLINT(google-explicit-constructor)
      : state_(other.ok() ? std::variant<T, Error>(T(other.take()))
                          : std::variant<T, Error>(other.error())) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }
  T& value() { return ok() ? std::get<T>(state_) : bad(); }
  const T& value() const { return ok() ? std::get<T>(state_) : bad(); }
  T take() { return std::move(value()); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  [[noreturn]] T& bad() const {
    throw InternalError("value() of a failed Result: " + error().message);
  }
  std::variant<T, Error> state_;
};

/// Success or an Error.
using Status = Result<std::monostate>;
/// Returns a successful Status.
inline Status ok_status() { return std::monostate{}; }

}  // namespace syrinx
