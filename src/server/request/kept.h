// Copies the outcome of a request without throwing, because a connection that never receives the
// outcome would wait forever.
#pragma once

#include <exception>

#include "engine/engine.h"

namespace syrinx {

/// Returns a copy. If memory is short, returns an outcome that reports this.
inline Outcome kept(const Outcome& outcome) noexcept {
  try {
    return outcome;
  } catch (const std::exception&) {
    Outcome lost;
    lost.reason = FinishReason::kError;
    lost.error.message = "no memory";  // short enough to need no allocation
    return lost;
  }
}

}  // namespace syrinx
