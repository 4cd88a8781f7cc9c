// A day of a large fleet, computed: every worker at every second, its rate of requests by the
// balancer's rules, and what it does at that rate from its WorkerCurve. So cost does not grow with
// the number of requests. Rests on workers that settle within a tick of time: what a worker does
// while its rate changes (a queue that builds up, at most SimulationOptions::max_wait_s long) is
// left out, as are requests that a refused listener makes again. Deterministic. Seconds; any
// thread.
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
  double refused = 0, cut = 0;             ///< 503; broken off by a worker's death
  double p50_s = 0, p90_s = 0, p99_s = 0;  ///< first audio of those that ended well
  double audio_s = 0;
  double workers = 0, up = 0;      ///< that are there, that take requests: means
  double used = 0, most_used = 0;  ///< by the streams that the costs allow: mean, and the fullest
};

/// A day by its rows, and as a whole.
struct DayResult {
  std::vector<DayRow> rows;
  DayRow whole;
};

/// A fleet and the day that it goes through.
struct DayOptions {
  SimulationOptions fleet;
  Day day;
  double peak_rate = 1;  ///< requests a second of the whole fleet at the highest level
  int rows = 24;
  double tick_s = 1;
};

/// Goes through the day tick by tick; each worker follows the curve.
DayResult plan_day(const WorkerCurve& curve, const DayOptions& options);

/// The same figures of a day that was simulated request by request.
DayResult count_day(const LoadResult& result, const FleetUse& use, const DayOptions& options,
                    const ServiceTargets& targets);

}  // namespace syrinx
