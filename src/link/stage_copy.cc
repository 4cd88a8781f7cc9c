#include "link/stage_copy.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace syrinx {

const StageCopy* choose_copy(std::span<const StageCopy> copies) {
  for (;;) {
    const StageCopy* best = nullptr;
    std::pair<bool, int> least;
    bool hope = false;
    for (const StageCopy& copy : copies) {
      const LinkState state = copy.link->state();
      hope =
          hope || (state.ups > 0 && now_s() < state.down_since_s + copy.link->options().return_s);
      const std::pair<bool, int> burden(state.leaving, state.streams);
      if (!state.up || (best && burden >= least)) continue;
      best = &copy;
      least = burden;
    }
    if (best || !hope) return best;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Error process_gone(const std::string& node) {
  return {ErrorCode::kOverloaded,
          "the process of the stage '" + node + "' was lost while it worked for this request",
          {},
          1};
}

}  // namespace syrinx
