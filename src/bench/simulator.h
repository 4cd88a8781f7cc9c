// The engine on virtual time. The scheduler of src/engine is the real one
// (engine/virtual_platform.h); the times of its batches come from a StepProfile. Hours of traffic
// take seconds. Not simulated: shared prefixes, late text, readers that pause, and executors that
// compete for memory bandwidth. Several engines may run behind the balancer of bench/balancer.h.
// Engines may fail and return, and their number may follow the load. Without state; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/fleet.h"
#include "bench/load.h"
#include "bench/step_profile.h"

namespace syrinx {

/// The simulated engine, clients and fleet.
struct SimulationOptions {
  std::string policy = "streaming";
  int executors = 1;   ///< executors of an engine; each runs any stage at the profile's speed
  bool split = false;  ///< two executors: the AR stage on one, chunk stages on the other
  /// Every node waits for all frames of its input, as in systems whose stages pass on whole
  /// results. If false, frames are passed on one by one.
  bool whole = false;
  std::vector<std::string> apart;  ///< nodes that run in another process, each on its own device
  double link_s = 0;  ///< time to another process and back, for each batch of these nodes
  int replicas = 1;   ///< number of engines (workers)
  Fleet fleet;        ///< balancer, failures and autoscaling
  int max_batch = 32, max_prefill_rows = 128;
  int max_requests = 256;   ///< most requests of an engine
  double max_wait_s = 0.5;  ///< predicted wait above which requests are refused
  int pages = 0;            ///< pages of an engine's KV cache; 0 means as in the profile
  double delivery_s = 0;    ///< network delay from the engine to the client
  bool noise = true;        ///< the times of batches vary as they varied when measured
};

/// Returns the most workers that the fleet may have at once.
int most_workers(const SimulationOptions& options);

/// State of the workers at one moment. Sums include only workers that accept requests (`up`).
struct FleetLook {
  double at_s = 0;
  int there = 0;  ///< all workers, also those that start, have died or drain
  int up = 0;
  double used = 0, most_used = 0;  ///< streams / possible streams: sum, and of the fullest worker
  double free = 0;                 ///< sum of the free shares that the agents report
  double wait_s = 0;               ///< sum of the predicted waits
  double in_flight = 0;            ///< sum of the unfinished requests
  double playing = 0;              ///< sum of the unfinished requests whose answer has begun
};

/// Events of the workers during a simulation.
struct FleetUse {
  std::vector<FleetLook> looks;  ///< states at intervals of Fleet::agent_s, after the warm-up
  int64_t retried = 0;           ///< requests that were sent to another worker
};

/// Simulates a load. Times of the result are virtual. Throws LoadError for an unknown policy. With
/// `day`, the rate of `point` is that of level 1, and the load follows the day's levels.
LoadResult simulate(const StepProfile& profile, const SimulationOptions& options,
                    const LoadPoint& point, const TrafficOptions& traffic, const Day* day = nullptr,
                    FleetUse* use = nullptr);

}  // namespace syrinx
