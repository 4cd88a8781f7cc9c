// A token bucket that limits requests in the background to a share of the executors' time. Passing
// time adds seconds to the bucket, and batches subtract seconds. One thread.
#pragma once

#include <algorithm>
#include <limits>

namespace syrinx {

class TimeShare {
 public:
  /// The largest content of the bucket, in seconds of one executor.
  static constexpr double kBurst_s = 0.25;

  /// `share`, in (0, 1]: part of the time of `executors` executors. 1 means no limit.
  TimeShare(double share, int executors) : rate_(share < 1 ? share * executors : kAll) {}

  /// Returns whether a batch may begin now. `now` must never decrease between calls.
  bool may(double now) {
    if (rate_ == kAll) return true;
    saved_s_ = std::min(kBurst_s, saved_s_ + rate_ * (now - std::min(now, seen_s_)));
    seen_s_ = now;
    return saved_s_ > 0;
  }
  /// Subtracts the `seconds` of a batch. While the content is below zero, may() returns false.
  void took(double seconds) { saved_s_ -= seconds; }

 private:
  static constexpr double kAll = std::numeric_limits<double>::infinity();
  double rate_;
  double saved_s_ = kBurst_s;
  double seen_s_ = kAll;
};

}  // namespace syrinx
