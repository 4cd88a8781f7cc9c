// For tests: waits until an engine has nothing to do.
#pragma once

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "engine/engine.h"

namespace syrinx {

/// Waits until the engine has no unfinished request; returns false after timeout_s. Allocates
/// nothing.
inline bool wait_until_idle(const Engine& engine, double timeout_s) {
  for (const double end_s = now_s() + timeout_s; engine.stats().requests > 0;) {
    if (now_s() > end_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace syrinx
