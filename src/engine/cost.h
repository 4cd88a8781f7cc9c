// The time of a batch as a linear function of its size, learned while the engine runs. Policies,
// admission and the simulator use it.
#pragma once

#include <algorithm>

namespace syrinx {

/// The seconds that a batch of n units takes. Units: rows of an AR node, fresh frames of a chunk
/// node.
struct StageCost {
  double fixed_s = 0;
  double unit_s = 0;
  double of(double n) const { return n > 0 ? fixed_s + unit_s * n : 0; }
  /// Returns the largest number of units that take no longer than `seconds`, from 1 to `most`.
  int within(double seconds, int most) const {
    if (of(most) <= seconds || unit_s <= 0) return most;
    return static_cast<int>(std::clamp((seconds - fixed_s) / unit_s, 1.0, double(most)));
  }
};

/// Least squares over (n, seconds) with fading old samples. Constant memory. If the line slopes
/// down, the cost is the mean time for any n; if it starts below zero, the mean time per unit.
class CostLearner {
 public:
  void sample(double n, double seconds) {
    // An outlier (another program used the CPU) counts as at most four times the expected time.
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
  bool known() const { return weight_ > 0; }

 private:
  static constexpr double kKeep = 0.995;  // about the last 200 batches count
  double weight_ = 0, n_ = 0, s_ = 0, nn_ = 0, ns_ = 0;
};

}  // namespace syrinx
