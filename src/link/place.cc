#include "link/place.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"

namespace syrinx {

const RemotePlace* choose_place(std::span<const RemotePlace> places) {
  for (;;) {
    const RemotePlace* best = nullptr;
    std::pair<bool, int> least;
    bool hope = false;
    for (const RemotePlace& place : places) {
      const LinkState state = place.link->state();
      hope =
          hope || (state.ups > 0 && now_s() < state.down_since_s + place.link->options().return_s);
      const std::pair<bool, int> burden(state.leaving, state.streams);
      if (!state.up || (best && burden >= least)) continue;
      best = &place;
      least = burden;
    }
    if (best || !hope) return best;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

Error went_away(const std::string& node) {
  return {ErrorCode::kOverloaded,
          "the process of the stage '" + node + "' went away while it was at work for this request",
          {},
          1};
}

}  // namespace syrinx
