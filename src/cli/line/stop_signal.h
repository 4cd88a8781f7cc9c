// SIGINT and SIGTERM, and SIGHUP, as events to wait for. Make it before any other thread: threads
// made later inherit that the signals are blocked, so that only this class sees them.
#pragma once

namespace syrinx {

/// The first signal ends the process with code 0 before arm(), and wait() after it. The second one
/// ends the process with code 1. One object per process, living to its end.
class StopSignal {
 public:
  StopSignal();
  /// From now on there is something to finish before the end.
  void arm();
  enum class Event { kStop, kReload };
  /// Blocks until the first signal to stop, or a SIGHUP, which without a terminal means to reload
  /// (with one it means that the terminal is gone: stop).
  Event wait();

 private:
  struct State;
  State* state_;  // shared with a thread that never ends; never freed
};

}  // namespace syrinx
