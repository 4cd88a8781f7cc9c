// Passes a value from a thread that fills it to a thread that takes it, and wakes the taking
// thread. Any number of threads may call it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

namespace syrinx {

template <typename T>
class Outbox {
 public:
  /// The filling thread calls `wake`, under the lock, after each change until close(). `wake` must
  /// not block and must not call the Outbox. If it is empty, taking threads use wait().
  explicit Outbox(std::function<void()> wake = {}, T value = {})
      : wake_(std::move(wake)), value_(std::move(value)) {}

  /// Calls f(T&) and wakes the taking thread if f returns true. Does nothing after close().
  template <typename F>
  void fill(F&& f) {
    const std::lock_guard lock(mutex_);
    if (!closed_ && f(value_)) wake();
  }
  /// Works like fill(), but after close() still calls f, without waking the taking thread. For
  /// changes that must not be lost.
  template <typename F>
  void settle(F&& f) {
    const std::lock_guard lock(mutex_);
    if (f(value_) && !closed_) wake();
  }
  /// Calls f(T&) under the lock and returns its result. Does not wake the taking thread.
  template <typename F>
  auto with(F&& f) {
    const std::lock_guard lock(mutex_);
    return f(value_);
  }
  template <typename F>
  auto with(F&& f) const {
    const std::lock_guard lock(mutex_);
    return f(value_);
  }
  /// Waits until ready(const T&) is true, at most `timeout_s` (below 0 means no limit). Then, even
  /// after a timeout, calls f like with().
  template <typename R, typename F>
  auto wait(double timeout_s, R&& ready, F&& f) {
    std::unique_lock lock(mutex_);
    const auto is_ready = [&] { return ready(std::as_const(value_)); };
    if (timeout_s < 0) {
      changed_.wait(lock, is_ready);
    } else {
      changed_.wait_for(lock, std::chrono::duration<double>(timeout_s), is_ready);
    }
    return f(value_);
  }
  /// Disables fill() and `wake`; calls f(T&), which should drop the current contents.
  template <typename F>
  void close(F&& f) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    wake_ = nullptr;
    f(value_);
  }

 private:
  void wake() {
    changed_.notify_all();
    if (wake_) wake_();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> wake_;
  bool closed_ = false;
  T value_;
};

}  // namespace syrinx
