// A computation in pieces: a coroutine that says `co_await PieceEnd()` wherever it may be left for
// a while or for ever. Long work on a shared thread is written straight down this way. What it
// needs across pieces lives in its frame, so references given to it must outlive it; an Arena::Mark
// must not live across pieces, because others use the arena between them. One thread at a time.
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
  /// Runs to the next end of a piece, or to the end of all; what the piece throws comes out here,
  /// and is the end.
  void next() {
    frame_.resume();
    if (frame_.promise().fault) std::rethrow_exception(std::exchange(frame_.promise().fault, {}));
  }

 private:
  explicit Pieces(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace syrinx
