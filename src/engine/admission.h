// Whether there is room for one more request: pure functions of the costs that the engine has
// learned.
#pragma once

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// The cost of one second of output at one node.
struct NodeWork {
  StageCost cost;
  bool ar = false;
  double units_a_second = 0;  ///< rows, or fresh frames
  int chunk_frames = 1;       ///< of a chunk node: frames in a steady chunk
  bool remote = false;        ///< runs in another process: takes no time of the executors
};

/// Which nodes share time: all of them on one executor, the AR nodes beside the others, or any node
/// on any of `executors`.
struct Sharing {
  int executors = 1;
  bool split = false;
};

/// Streams that can be fed at the speed of playback when batches are full and nothing else runs.
/// Infinite while a cost is unknown.
double stream_capacity(std::span<const NodeWork> nodes, int max_batch, Sharing sharing);

/// The engine's load at one moment.
struct Load {
  int running = 0;         ///< requests that have a seat
  int waiting = 0;         ///< requests in the queue for one
  double seats = 0;        ///< how many may run
  double finish_rate = 0;  ///< requests that end per second; 0: not known
};

/// Seconds until one more request would get a seat; 0: at once. Infinite when there is no seat
/// and nothing is known of when one will be free.
double predicted_wait_s(const Load& load);

/// Takes back seats when streams run dry although the costs said that there was room (they miss
/// what other programs take). That needs proof: chunks come late in several looks in a row while
/// the executors are busy; a single hiccup of the machine does not count. Places come back while no
/// chunk is late, and all at once when the executors have time again.
class SeatLimit {
 public:
  static constexpr double kLook_s = 0.25;  ///< long enough for a change to show

  /// A chunk reached its listener.
  void chunk(bool late) { ++chunks_, late_ += late ? 1 : 0; }
  /// To be called often. `busy_s`: of all executors since the start, divided by their number;
  /// `running`: requests that hold a seat.
  void observe(double busy_s, int running, double now_s);
  /// The largest number of requests that may run; infinite while no chunk is late.
  double seats() const { return seats_; }
  bool limited() const { return seats_ < std::numeric_limits<double>::infinity(); }

 private:
  double seats_ = std::numeric_limits<double>::infinity();
  double looked_s_ = 0, busy_s_ = 0;  // at the last look
  int64_t chunks_ = 0, late_ = 0;     // since the last look
  int proof_ = 0;                     // looks in a row that showed overload
  double idle_s_ = 0;
};

/// The time that new requests wait for their first output, as a multiple of the time when a request
/// is alone: listeners notice load by it long before seats are short. 1 until a request has come
/// alone.
class Slowdown {
 public:
  static constexpr double kMemory_s = 2;
  /// A request's first output came after `seconds`; `alone`: no other request was there meanwhile.
  void first_output(double seconds, bool alone, double now_s);
  /// Whether a wait of `waited_s` without output is longer than that of a request alone.
  bool is_slow(double waited_s) const { return alone_s_ > 0 && waited_s > alone_s_; }
  /// With `waiting` slow ones, which have waited `waited_s` together. At least 1.
  double value(double waited_s, int waiting, double now_s) const;
  /// The value after `passed_s` without a new request.
  static double faded(double value, double passed_s) {
    return 1 + (value - 1) * std::exp(-passed_s / kMemory_s);
  }

 private:
  double alone_s_ = 0;                           // 0: not known
  double sum_s_ = 0, count_ = 0, newest_s_ = 0;  // fading, as of the newest
};

/// The share of a worker that is free for more streams, which it reports to a balancer. `used`: the
/// share of its streams that is taken, may be above 1. Where the slowdown gives less, that counts:
/// streams are far from full when new requests begin to wait. May be below 0.
inline double free_share(double used, double slowdown) { return std::fmin(1 - used, 1 / slowdown); }

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
