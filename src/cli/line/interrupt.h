// SIGINT, SIGTERM and SIGHUP while there is something to clean up: they are noticed instead of
// ending the process at once. Unlike StopSignal nothing is blocked, so that a program that was
// started to play the audio hears of them too. Main thread.
#pragma once

#include <csignal>

namespace syrinx {

/// Thrown on the way out; end_by() finishes it in main().
struct Interrupted {
  int signal = 0;
};

/// While it lives, the first signal is kept for check(); a second one of the same kind ends the
/// process as if it had not been caught. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Throws Interrupted once a signal has come.
  void check() const;

 private:
  struct sigaction before_[3] = {};
};

/// Ends the process by the signal itself, so that a shell sees why.
[[noreturn]] void end_by(const Interrupted& interrupted);

}  // namespace syrinx
