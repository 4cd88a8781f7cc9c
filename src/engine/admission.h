// Whether there is room for one more, as pure functions of what the engine has learned.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// What a second of audio takes of each stage.
struct WorkPerSecond {
  double ar_rows = 0;
  std::vector<double> link_frames;
};

/// Which stages share time: all of them on one executor, the AR stage beside the others, or any
/// stage on any of `executors`.
struct Sharing {
  int executors = 1;
  bool split = false;
};

/// Streams that can be fed at the speed of playback when batches are full, each chunk having
/// `chunk_frames` frames. Infinite while a cost is unknown.
double stream_capacity(const CostModel& costs, const WorkPerSecond& work, int max_batch,
                       std::span<const int> chunk_frames, Sharing sharing);

/// The engine's load at one moment.
struct Load {
  int running = 0;         ///< requests that have a place
  int waiting = 0;         ///< requests in the queue for one
  double places = 0;       ///< how many may run
  double finish_rate = 0;  ///< requests that end per second; 0: not known
};

/// Seconds until one more request would get a place; 0: at once. Infinite when there is no place
/// and nothing is known of when one will be free.
double predicted_wait_s(const Load& load);

/// Takes back places when streams run dry although the costs said that there was room (they miss
/// what other programs take), and gives them out again slowly.
class PlaceLimit {
 public:
  /// What happened until `now_s`: the share of chunks that came late, how many requests run.
  void observe(double late_share, int running, double now_s);
  /// At most so many may run; infinite while all is well.
  double places() const { return places_; }

 private:
  double places_ = std::numeric_limits<double>::infinity();
  double changed_s_ = 0;
};

/// How much of something happens a second, over about the last `memory_s`.
class Rate {
 public:
  explicit Rate(double memory_s) : memory_s_(memory_s) {}
  void add(double amount, double now_s) {
    fade(now_s);
    sum_ += amount;
  }
  double per_second(double now_s) const {
    if (first_s_ < 0) return 0;
    const double gone = now_s - last_s_, seen = now_s - first_s_;
    // Less than memory_s has been seen at first: the weights add up to less.
    const double weight = memory_s_ * (1 - std::exp(-std::fmax(seen, 0.05) / memory_s_));
    return sum_ * std::exp(-gone / memory_s_) / weight;
  }

 private:
  void fade(double now_s) {
    if (first_s_ < 0) first_s_ = last_s_ = now_s;
    sum_ *= std::exp(-(now_s - last_s_) / memory_s_);
    last_s_ = now_s;
  }
  double memory_s_;
  double sum_ = 0, first_s_ = -1, last_s_ = 0;
};

}  // namespace syrinx
