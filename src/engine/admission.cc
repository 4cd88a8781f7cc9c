#include "engine/admission.h"

#include <algorithm>
#include <limits>

namespace syrinx {

double stream_capacity(std::span<const NodeWork> nodes, int max_batch, Sharing sharing) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  double steps_s = 0, chunks_s = 0, remote_s = 0;
  for (const NodeWork& node : nodes) {
    const double units = static_cast<double>(max_batch) * (node.ar ? 1 : node.chunk_frames);
    const double each_s = node.cost.fixed_s / units + node.cost.unit_s;
    if (each_s <= 0 || node.units_a_second <= 0) return kUnknown;
    (node.remote ? remote_s : node.ar ? steps_s : chunks_s) += node.units_a_second * each_s;
  }
  if (sharing.split) return 1 / std::max({steps_s, chunks_s, remote_s});
  const double here = sharing.executors / (steps_s + chunks_s);
  return remote_s > 0 ? std::min(here, 1 / remote_s) : here;
}

double predicted_wait_s(const Load& load) {
  const double missing = load.running + load.waiting + 1 - load.seats;
  if (missing <= 0) return 0;
  if (load.finish_rate <= 0) return std::numeric_limits<double>::infinity();
  return missing / load.finish_rate;
}

void Slowdown::first_output(double seconds, bool alone, double now_s) {
  if (alone) {
    // Shorter times weigh more: the first request may have run with cold caches, and a long prompt
    // delays output without any load.
    const double weight = alone_s_ == 0 ? 1 : seconds < alone_s_ ? 0.5 : 0.1;
    alone_s_ += weight * (seconds - alone_s_);
  }
  const double kept = std::exp(-(now_s - newest_s_) / kMemory_s);
  sum_s_ = kept * sum_s_ + seconds;
  count_ = kept * count_ + 1;
  newest_s_ = now_s;
}

double Slowdown::value(double waited_s, int waiting, double now_s) const {
  if (alone_s_ <= 0) return 1;
  const double kept = std::exp(-(now_s - newest_s_) / kMemory_s);
  // The sums include one request that ran alone, so that a single slow request counts less.
  const double sum_s = kept * sum_s_ + waited_s + alone_s_, count = kept * count_ + waiting + 1;
  return std::max(1.0, sum_s / count / alone_s_);
}

void SeatLimit::observe(double busy_s, int running, double now_s) {
  constexpr double kMany = 0.005;  // share of late chunks above which the machine is overloaded
  constexpr int kProof = 3;        // number of consecutive observations that prove overload
  constexpr double kBusy = 0.7, kIdle = 0.5;
  constexpr double kBack = 0.95, kOut = 1.05;
  constexpr double kIdleEnough_s = 0.7;  // seconds of idle time after which all seats are free
  const double passed_s = now_s - looked_s_;
  if (passed_s < kLook_s) return;
  const double busy = (busy_s - busy_s_) / passed_s;
  const bool late = late_ > 0 && static_cast<double>(late_) > kMany * static_cast<double>(chunks_);
  proof_ = late && busy > kBusy ? proof_ + 1 : 0;
  idle_s_ = busy < kIdle ? idle_s_ + passed_s : 0;
  if (proof_ >= kProof) {
    seats_ = std::max(1.0, kBack * std::min<double>(seats_, running));
  } else if (idle_s_ > kIdleEnough_s) {
    seats_ = std::numeric_limits<double>::infinity();
  } else if (late_ == 0) {
    seats_ *= kOut;
    if (seats_ > 1e6) seats_ = std::numeric_limits<double>::infinity();
  }
  looked_s_ = now_s, busy_s_ = busy_s;
  chunks_ = late_ = 0;
}

}  // namespace syrinx
