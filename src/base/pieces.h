// A computation in pieces: a coroutine that may be suspended or dropped at each `co_await
// PieceEnd()`. This lets long work on a shared thread be written as straight-line code. Variables
// that are used across pieces are in the coroutine's frame, so objects to which they refer must
// outlive it. An Arena::Mark must not be used across pieces, because other code uses the arena
// between pieces. One thread at a time.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace syrinx {

using PieceEnd = std::suspend_always;

class Pieces {
 public:
  struct promise_type {
    std::exception_ptr fault;
    Pieces get_return_object() {
      return Pieces(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { fault = std::current_exception(); }
  };

  Pieces() = default;
  Pieces(Pieces&& other) noexcept : frame_(std::exchange(other.frame_, {})) {}
  Pieces& operator=(Pieces&& other) noexcept {
    std::swap(frame_, other.frame_);
    return *this;
  }
  ~Pieces() {
    if (frame_) frame_.destroy();
  }

  bool done() const { return !frame_ || frame_.done(); }
  /// Runs to the end of the next piece or of the coroutine. Rethrows an exception of the piece; the
  /// coroutine has then ended.
  void next() {
    frame_.resume();
    if (frame_.promise().fault) std::rethrow_exception(std::exchange(frame_.promise().fault, {}));
  }

 private:
  explicit Pieces(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace syrinx
