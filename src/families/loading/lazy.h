// A value that is made when it is first needed. Header only.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace syrinx {

/// Any thread. The first caller makes the value, and other callers wait. Cannot be copied or moved.
template <typename T>
class Lazy {
 public:
  explicit Lazy(std::function<T()> make) : make_(std::move(make)) {}

  /// Returns the value. Throws what `make` throws; then the next call tries again.
  const T& get() const {
    std::call_once(once_, [this] { value_.emplace(make_()); });
    return *value_;
  }

 private:
  const std::function<T()> make_;
  mutable std::once_flag once_;
  mutable std::optional<T> value_;
};

}  // namespace syrinx
