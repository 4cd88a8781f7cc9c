// SIGINT, SIGTERM and SIGHUP as events to wait for. Create the object before any other thread:
// later threads inherit the blocked signals, so that only this class receives them.
#pragma once

#include <functional>
#include <string>

namespace syrinx {

/// Before arm(), the first signal ends the process with code 0; after arm(), it ends wait(). The
/// second signal ends the process with code 1. One object per process, until its end.
class StopSignal {
 public:
  StopSignal();
  /// After this call, the first signal ends wait() instead of the process.
  void arm();
  /// After this call, a lost GPU (tensor/device_health.h) stops the process as SIGTERM does, with a
  /// line to `log`. Only a new process can use the GPU again.
  static void watch_device(std::function<void(const std::string& line)> log);
  /// Ends watch_device(). Returns the process's exit code: 1 if the GPU is lost, so that
  /// supervisors start the process again.
  static int end_watch();
  enum class Event { kStop, kReload };
  /// Blocks until the first signal to stop, or until SIGHUP. Without a terminal, SIGHUP means to
  /// reload. With a terminal, it reports that the terminal was closed, and means to stop.
  Event wait();

 private:
  struct State;
  State* state_;  // shared with a thread that never ends, so never freed
};

}  // namespace syrinx
