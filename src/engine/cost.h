// The time of a batch as a linear function of its size, learned while the engine runs. Policies,
// admission and the simulator use it.
#pragma once

#include <algorithm>

namespace syrinx {

/// The seconds that a batch of n units takes. A unit is a row of an AR node or a new frame of a
/// chunk node.
struct StageCost {
  double fixed_s = 0;
  double unit_s = 0;
  double of(double n) const { return n > 0 ? fixed_s + unit_s * n : 0; }
  /// Returns the largest number of units, from 1 to `most`, that takes at most `seconds`.
  int within(double seconds, int most) const {
    if (of(most) <= seconds || unit_s <= 0) return most;
    return static_cast<int>(std::clamp((seconds - fixed_s) / unit_s, 1.0, double(most)));
  }
};

/// Fits a line to (n, seconds) by least squares; old samples fade. Fixed memory. A falling line is
/// replaced by the mean time, a line that starts below zero by the mean time per unit.
class CostLearner {
 public:
  void sample(double n, double seconds) {
    // A time far above the expected one (the CPU ran another program) counts as 4 times that time.
    if (weight_ >= 8) seconds = std::min(seconds, 4 * cost().of(n));
    weight_ = kKeep * weight_ + 1;
    n_ = kKeep * n_ + n;
    s_ = kKeep * s_ + seconds;
    nn_ = kKeep * nn_ + n * n;
    ns_ = kKeep * ns_ + n * seconds;
  }

  StageCost cost() const {
    if (weight_ == 0) return {};
    const double spread = nn_ - n_ * n_ / weight_;
    const double slope = spread > 1e-9 * nn_ ? (ns_ - n_ * s_ / weight_) / spread : 0;
    const double start = (s_ - slope * n_) / weight_;
    if (slope < 0) return {s_ / weight_, 0};
    if (start < 0) return {0, n_ > 0 ? s_ / n_ : 0};
    return {start, slope};
  }

 private:
  static constexpr double kKeep = 0.995;  // weights of samples fade so that about 200 batches count
  double weight_ = 0, n_ = 0, s_ = 0, nn_ = 0, ns_ = 0;
};

}  // namespace syrinx
