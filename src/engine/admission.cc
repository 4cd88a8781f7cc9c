#include "engine/admission.h"

#include <algorithm>
#include <limits>

namespace syrinx {

double stream_capacity(const CostModel& costs, const WorkPerSecond& work, int max_batch,
                       std::span<const int> chunk_frames, Sharing sharing) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const double batch = max_batch;
  const double steps_s = work.ar_rows * (costs.ar.fixed_s / batch + costs.ar.unit_s);
  double chunks_s = 0;
  for (size_t i = 0; i < work.link_frames.size(); ++i) {
    const StageCost& cost = costs.links[i];
    const double each_s = cost.fixed_s / (batch * chunk_frames[i]) + cost.unit_s;
    if (each_s <= 0 || work.link_frames[i] <= 0) return kUnknown;
    chunks_s += work.link_frames[i] * each_s;
  }
  if (steps_s <= 0) return kUnknown;
  if (sharing.split) return 1 / std::max(steps_s, chunks_s);
  return sharing.executors / (steps_s + chunks_s);
}

double predicted_wait_s(const Load& load) {
  const double missing = load.running + load.waiting + 1 - load.places;
  if (missing <= 0) return 0;
  if (load.finish_rate <= 0) return std::numeric_limits<double>::infinity();
  return missing / load.finish_rate;
}

void PlaceLimit::observe(double late_share, int running, double now_s) {
  constexpr double kEvery_s = 0.25;  // long enough for a change to show
  constexpr double kMany = 0.005, kFew = 0.0005;
  constexpr double kBack = 0.95, kOut = 1.01;
  if (now_s - changed_s_ < kEvery_s) return;
  changed_s_ = now_s;
  if (late_share > kMany) {
    places_ = std::max(1.0, kBack * std::min<double>(places_, running));
  } else if (late_share < kFew) {
    places_ *= kOut;
    if (places_ > 1e6) places_ = std::numeric_limits<double>::infinity();
  }
}

}  // namespace syrinx
