// How a queue keeps the end of a request. Never throws: a connection that does not hear of the end
// waits for it for ever.
#pragma once

#include <exception>

#include "engine/engine.h"

namespace syrinx {

/// A copy; where there is no memory for one, an outcome that says so.
inline Outcome kept(const Outcome& outcome) noexcept {
  try {
    return outcome;
  } catch (const std::exception&) {
    Outcome lost;
    lost.reason = FinishReason::kError;
    lost.error.message = "no memory";  // short enough to need none
    return lost;
  }
}

}  // namespace syrinx
