// Computes a day of a large fleet. In every tick each worker gets a rate of requests by the
// balancer's rules, and its WorkerCurve gives the results at that rate. So the cost does not grow
// with the number of requests. Assumes that a worker settles within one tick. Leaves out the
// effects of a changing rate: a growing queue (at most SimulationOptions::max_wait_s long), and
// requests repeated after a refusal. Deterministic. Seconds; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/simulator.h"
#include "bench/worker_curve.h"

namespace syrinx {

/// A part of the day.
struct DayRow {
  double at_s = 0, for_s = 0;
  double requests = 0, ok = 0, good = 0;
  double refused = 0, cut = 0;  ///< requests with status 503; requests cut off by a worker's death
  double p50_s = 0, p90_s = 0, p99_s = 0;  ///< time to first audio of successful requests
  double audio_s = 0;
  double workers = 0, up = 0;      ///< means: workers of the fleet; workers that accept requests
  double used = 0, most_used = 0;  ///< streams / possible streams: mean of workers; largest
};

/// The rows of a day, and the whole day.
struct DayResult {
  std::vector<DayRow> rows;
  DayRow whole;
};

/// A fleet and its day.
struct DayOptions {
  SimulationOptions fleet;
  Day day;
  double peak_rate = 1;  ///< requests a second of the whole fleet at level 1
  int rows = 24;
  double tick_s = 1;
};

/// Computes the day tick by tick. The results of each worker follow the curve.
DayResult plan_day(const WorkerCurve& curve, const DayOptions& options);

/// Computes the same figures for a day that was simulated request by request.
DayResult count_day(const LoadResult& result, const FleetUse& use, const DayOptions& options,
                    const ServiceTargets& targets);

}  // namespace syrinx
