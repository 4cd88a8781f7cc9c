// Makes requests by a plan and measures them: open loop (arrivals know nothing of completions),
// closed loop (N clients, each asks again when it has its answer), real-time listeners (each asks
// again when it has heard its answer), and replay of a trace. One thread; blocks until all is over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/meter.h"
#include "bench/percentiles.h"
#include "bench/target.h"

namespace syrinx {

/// An open loop, clients that ask again at once, listeners in real time, or times of a file.
enum class LoadKind { kRate, kStreams, kRealtime, kTrace };

/// One load.
struct LoadPoint {
  LoadKind kind = LoadKind::kStreams;
  double level = 1;  ///< requests a second, or how many clients; of a trace: its speed
};
/// "4 req/s", "8 streams", "8 listeners", "trace"
std::string point_name(const LoadPoint& point);

/// For how long, and with what seeds.
struct TrafficOptions {
  double warmup_s = 0;     ///< requests due earlier are made and not counted
  double duration_s = 30;  ///< seconds after the warm-up in which requests become due
  int repeats = 0;         ///< kStreams: requests a client, instead of duration_s; 0: unset
  uint64_t seed = 0;       ///< of arrivals, order of texts; request i asks with seed + i
  double audible_level = 0.01;
  double ramp_s = 2;         ///< kRealtime: seconds over which clients begin
  int max_in_flight = 4096;  ///< past it requests are not sent (Failure::kSkipped)
  std::vector<std::string> texts;
  std::vector<TracedUtterance> trace;  ///< of kTrace
  /// Asked after every counted request: true ends the arrivals early (LoadResult::stopped).
  std::function<bool(const RequestRecord&)> give_up = {};
};

/// For a progress line.
struct LoadProgress {
  double elapsed_s = 0, total_s = 0;  ///< total 0: not known
  int sent = 0, done = 0, failed = 0, running = 0;
};

/// A load that was made, and what each request heard.
struct LoadResult {
  LoadPoint point;
  double warmup_s = 0;
  /// For an open loop that went to its end: seconds after the warm-up in which requests became due,
  /// whether or not one did at its edges. 0: the load has no length of its own.
  double window_s = 0;
  double wall_s = 0;                    ///< from the start to the last end
  bool stopped = false;                 ///< by give_up
  std::vector<RequestRecord> requests;  ///< in order of their ends
  /// Lateness of the generator: how late it sent requests and looked at its clock, in seconds.
  Percentiles lag;
};

/// Runs the load of one point; returns when all of its requests have ended.
LoadResult run_load(net::io_context& io, BenchTarget& target, const LoadPoint& point,
                    const TrafficOptions& options,
                    const std::function<void(const LoadProgress&)>& progress = {});

}  // namespace syrinx
