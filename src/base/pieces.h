// A computation in pieces: a coroutine with `co_await PieceEnd()` wherever it may be suspended, or
// dropped. Long work on a shared thread can thus be written as straight-line code. Variables that
// live across pieces are in the coroutine's frame, so objects that it refers to must outlive it. An
// Arena::Mark must not live across pieces, because other code uses the arena between them. One
// thread at a time.
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
  /// Runs to the end of the next piece or of the coroutine. Throws what the piece throws; the
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
