// The engine's clock, in seconds. It never goes back.
#pragma once

#include <chrono>

namespace syrinx {

/// Returns the seconds since an arbitrary, fixed moment on a monotonic clock.
inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace syrinx
