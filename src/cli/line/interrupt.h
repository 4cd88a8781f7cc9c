// Catches SIGINT, SIGTERM and SIGHUP while a command has files to clean up, so that they do not end
// the process at once. Unlike StopSignal, no signal is blocked, so that a child (the audio player)
// receives them too. Main thread.
#pragma once

#include <csignal>

namespace syrinx {

/// Thrown after a signal; main() catches it and calls end_by().
struct Interrupted {
  int signal = 0;
};

/// While this object exists, it records the last signal for check(). A second signal of the same
/// kind ends the process as if it had not been caught. One object at a time. A later object reports
/// a signal for which check() was not called in time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Throws Interrupted if a signal has arrived.
  void check() const;

 private:
  struct sigaction before_[3] = {};
};

/// Ends the process with the recorded signal, so that a shell sees the cause.
[[noreturn]] void end_by(const Interrupted& interrupted);

}  // namespace syrinx
