// Decides whether the machine can serve one more request: pure functions of the learned costs.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// The work of one node for one second of output.
struct NodeWork {
  StageCost cost;
  bool ar = false;
  double units_a_second = 0;  ///< rows of an AR node, or new frames of a chunk node
  int chunk_frames = 1;       ///< frames in a steady chunk of a chunk node
  bool remote = false;        ///< the node runs in another process and takes no executor time here
};

/// The way in which nodes share executor time. With `split`, AR nodes share one executor and chunk
/// nodes share another. Otherwise all nodes share `executors` executors.
struct Sharing {
  int executors = 1;
  bool split = false;
};

/// Returns the number of streams that can be fed at the speed of playback when batches are full and
/// nothing else runs. Returns infinity while a cost is unknown.
double stream_capacity(std::span<const NodeWork> nodes, int max_batch, Sharing sharing);

/// The engine's load at one moment.
struct Load {
  int running = 0;         ///< requests that have a seat
  int waiting = 0;         ///< requests that wait for a seat
  double seats = 0;        ///< requests that may run at once
  double finish_rate = 0;  ///< requests that end per second; 0: unknown
  int requests = 0;        ///< all requests that the scheduler has
};

/// Returns the seconds until one more request would get a seat; 0 if a seat is free. Returns
/// infinity when no seat is free and finish_rate is unknown.
double predicted_wait_s(const Load& load);

/// Lowers the number of seats when streams run dry although the learned costs promised enough
/// capacity. Costs do not include the time that other programs use. The limit falls when chunks are
/// late and executors are busy in several looks in a row. Seats come back one by one while no chunk
/// is late, and all at once when the executors are idle.
class SeatLimit {
 public:
  static constexpr double kLook_s = 0.25;  ///< time between looks; long enough to see a change

  /// Records that a chunk reached its listener; `late`: after the listener had run dry.
  void chunk(bool late) { ++chunks_, late_ += late ? 1 : 0; }
  /// Looks for overload; call it often. `busy_s`: busy time of all executors since the start,
  /// divided by their number; `running`: requests that hold a seat.
  void observe(double busy_s, int running, double now_s);
  /// Returns the largest number of requests that may run; infinite while no chunk is late.
  double seats() const { return seats_; }
  bool limited() const { return seats_ < std::numeric_limits<double>::infinity(); }

 private:
  double seats_ = std::numeric_limits<double>::infinity();
  double looked_s_ = 0, busy_s_ = 0;  // time and busy time at the last look
  int64_t chunks_ = 0, late_ = 0;     // chunks, and late chunks, since the last look
  int proof_ = 0;                     // consecutive looks that showed overload
  double idle_s_ = 0;
};

/// Measures how long new requests wait for their first output, as a multiple of the wait of a
/// request that runs alone. Rises long before seats are short. 1 until a request has run
/// alone.
class Slowdown {
 public:
  static constexpr double kMemory_s = 2;
  /// Records that a request's first output came after `seconds`; `alone`: it was the only request.
  void first_output(double seconds, bool alone, double now_s);
  /// Returns whether a wait of `waited_s` without output is longer than that of a request alone.
  bool is_slow(double waited_s) const { return alone_s_ > 0 && waited_s > alone_s_; }
  /// Returns the slowdown, at least 1. Requests that still wait count as slow. `waiting`: their
  /// number; `waited_s`: the sum of their waits.
  double value(double waited_s, int waiting, double now_s) const;
  /// Returns the slowdown `value`, faded for the `passed_s` in which no new request came.
  static double faded(double value, double passed_s) {
    return 1 + (value - 1) * std::exp(-passed_s / kMemory_s);
  }

 private:
  double alone_s_ = 0;  // wait of a request that runs alone; 0: unknown
  // Faded sums over first outputs: of their waits, and of their number; and the newest one's time.
  double sum_s_ = 0, count_ = 0, newest_s_ = 0;
};

/// Returns the share of a worker that is free for more streams; the worker reports it to a
/// balancer. May be negative. `used`: share of its streams that is in use, may exceed 1. A slowdown
/// lowers the result, because new requests wait long before all streams are in use.
inline double free_share(double used, double slowdown) { return std::fmin(1 - used, 1 / slowdown); }

}  // namespace syrinx
