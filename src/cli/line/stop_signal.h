// SIGINT, SIGTERM and SIGHUP as events to wait for. Create the object before any other thread:
// later threads inherit the blocked signals, so that only this class receives them.
#pragma once

namespace syrinx {

/// The first signal ends the process with code 0 before arm(); after arm(), it ends wait(). The
/// second signal ends the process with code 1. One object per process, living to its end.
class StopSignal {
 public:
  StopSignal();
  /// From now on, the first signal ends wait() instead of the process.
  void arm();
  enum class Event { kStop, kReload };
  /// Blocks until the first signal to stop, or until SIGHUP. Without a terminal SIGHUP means to
  /// reload; with a terminal it means that the terminal was closed: stop.
  Event wait();

 private:
  struct State;
  State* state_;  // shared with a thread that never ends, so never freed
};

}  // namespace syrinx
