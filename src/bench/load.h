// Makes requests by a plan and measures them. Open loop: arrivals do not depend on completions.
// Closed loop: each of N clients sends its next request when it has its answer. Real-time
// listeners: each sends its next request when it has played its answer. Trace: replays recorded
// times. One thread; blocks until all requests have ended.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/meter.h"
#include "bench/percentiles.h"
#include "bench/target.h"

namespace syrinx {

/// The kind of a load: open loop, closed loop, real-time listeners, or the times of a trace.
enum class LoadKind { kRate, kStreams, kRealtime, kTrace };

/// A load of one kind at one level.
struct LoadPoint {
  LoadKind kind = LoadKind::kStreams;
  double level = 1;  ///< requests per second, number of clients, or speed of a trace
};
/// Returns the name of the load, e.g. "4 req/s", "8 streams", "8 listeners" or "trace".
std::string point_name(const LoadPoint& point);

/// Duration, seeds and limits of a load.
struct TrafficOptions {
  double warmup_s = 0;     ///< requests due before this time are made, but not counted
  double duration_s = 30;  ///< seconds after the warm-up in which requests become due
  int repeats = 0;         ///< kStreams: requests of each client, instead of duration_s; 0 if unset
  uint64_t seed = 0;       ///< seed of arrivals and of the order of texts; request i has seed + i
  double audible_level = 0.01;
  double ramp_s = 2;         ///< kRealtime: seconds within which all clients begin
  int max_in_flight = 4096;  ///< most unfinished requests; more are not sent (kSkipped)
  std::vector<std::string> texts;
  std::vector<TracedUtterance> trace;  ///< the utterances of kTrace
  /// Called after every counted request. If it returns true, no further requests arrive
  /// (LoadResult::stopped).
  std::function<bool(const RequestRecord&)> give_up = {};
};

/// The state of a load, for a progress line.
struct LoadProgress {
  double elapsed_s = 0, total_s = 0;  ///< total_s is 0 if unknown
  int sent = 0, done = 0, failed = 0, running = 0;
};

/// The records of a load that has run.
struct LoadResult {
  LoadPoint point;
  double warmup_s = 0;
  /// Seconds after the warm-up in which requests became due, for an open loop that was not stopped.
  /// 0 means that the load has no fixed length.
  double window_s = 0;
  double wall_s = 0;                    ///< from the start to the end of the last request
  bool stopped = false;                 ///< give_up ended the load early
  std::vector<RequestRecord> requests;  ///< in the order of their ends
  /// Lateness of the generator in seconds, for sent requests and for its checks of the clock.
  Percentiles lag;
};

/// Runs the load of one point; returns when all of its requests have ended.
LoadResult run_load(net::io_context& io, BenchTarget& target, const LoadPoint& point,
                    const TrafficOptions& options,
                    const std::function<void(const LoadProgress&)>& progress = {});

}  // namespace syrinx
