// A share of the executors' time, for requests in the background: seconds flow into a bucket as
// time goes by and out of it as batches run. One thread.
#pragma once

#include <algorithm>
#include <limits>

namespace syrinx {

class TimeShare {
 public:
  /// The budget after a pause, in seconds of one executor.
  static constexpr double kBurst_s = 0.25;

  /// `share` in (0, 1] of the time of `executors` executors; 1: all of it.
  TimeShare(double share, int executors) : rate_(share < 1 ? share * executors : kAll) {}

  /// Whether something may begin now. Times never fall.
  bool may(double now) {
    if (rate_ == kAll) return true;
    saved_s_ = std::min(kBurst_s, saved_s_ + rate_ * (now - std::min(now, seen_s_)));
    seen_s_ = now;
    return saved_s_ > 0;
  }
  /// Work has taken `seconds`. Time above the share is waited for later.
  void took(double seconds) { saved_s_ -= seconds; }

 private:
  static constexpr double kAll = std::numeric_limits<double>::infinity();
  double rate_;
  double saved_s_ = kBurst_s;
  double seen_s_ = kAll;
};

}  // namespace syrinx
