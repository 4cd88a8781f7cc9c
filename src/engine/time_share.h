// A token bucket that limits requests in the background to a share of the executors' time: passing
// time adds seconds, batches take seconds. One thread.
#pragma once

#include <algorithm>
#include <limits>

namespace syrinx {

class TimeShare {
 public:
  /// The most that may be saved up, in seconds of one executor.
  static constexpr double kBurst_s = 0.25;

  /// `share`, in (0, 1]: part of the time of `executors` executors; 1: no limit.
  TimeShare(double share, int executors) : rate_(share < 1 ? share * executors : kAll) {}

  /// Whether a batch may begin now. `now` never falls between calls.
  bool may(double now) {
    if (rate_ == kAll) return true;
    saved_s_ = std::min(kBurst_s, saved_s_ + rate_ * (now - std::min(now, seen_s_)));
    seen_s_ = now;
    return saved_s_ > 0;
  }
  /// Subtracts the `seconds` of a batch. After more than was saved, may() is false for a while.
  void took(double seconds) { saved_s_ -= seconds; }

 private:
  static constexpr double kAll = std::numeric_limits<double>::infinity();
  double rate_;
  double saved_s_ = kBurst_s;
  double seen_s_ = kAll;
};

}  // namespace syrinx
