#include "bench/batch_times.h"

#include <algorithm>

namespace syrinx {

void BatchTimes::add(size_t node, double units, double seconds) {
  Size& size = sizes_[node][units];
  size.least_s = size.seen == 0 ? seconds : std::min(size.least_s, seconds);
  ++size.seen;
}

std::vector<StageCost> BatchTimes::costs(size_t nodes) const {
  std::vector<StageCost> out(nodes);
  for (const auto& [node, sizes] : sizes_) {
    if (node >= nodes) continue;
    const auto& [units, usual] = *std::max_element(
        sizes.begin(), sizes.end(),
        [](const auto& a, const auto& b) { return a.second.seen < b.second.seen; });
    std::vector<double> slopes;
    for (const auto& [other, size] : sizes) {
      if (other != units) slopes.push_back((size.least_s - usual.least_s) / (other - units));
    }
    double slope = 0;
    if (!slopes.empty()) {
      const auto middle = slopes.begin() + std::ssize(slopes) / 2;
      std::nth_element(slopes.begin(), middle, slopes.end());
      slope = std::clamp(*middle, 0.0, units > 0 ? usual.least_s / units : 0.0);
    }
    out[node] = {usual.least_s - slope * units, slope};
  }
  return out;
}

}  // namespace syrinx
