// The engine on virtual time: the scheduler of src/engine runs as it is
// (engine/virtual_platform.h); what its batches cost comes from a StepProfile. Hours of traffic
// take seconds. What it leaves out: shared prefixes, late text, readers that pause, and that
// kernels of several executors compete for memory bandwidth. Several engines stand behind the
// balancer of bench/balancer.h, die and come back, and follow the load. Free of state; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/fleet.h"
#include "bench/load.h"
#include "bench/step_profile.h"

namespace syrinx {

/// The engine, the clients and the fleet that are computed.
struct SimulationOptions {
  std::string policy = "streaming";
  int executors = 1;   ///< of an engine; each runs any stage as fast as the profile says
  bool split = false;  ///< two executors: the AR stage on one, chunk stages on the other
  /// Every node waits for all of what feeds it, as where stages hand on whole results; otherwise
  /// frames go on as they come.
  bool whole = false;
  std::vector<std::string> apart;  ///< nodes that run in another process, each on its own device
  double link_s = 0;               ///< there and back, for each of their batches
  int replicas = 1;                ///< whole engines (workers)
  Fleet fleet;                     ///< how they are balanced, fail and follow the load
  int max_batch = 32, max_prefill_rows = 128;
  int max_requests = 256;   ///< of an engine
  double max_wait_s = 0.5;  ///< predicted wait past which requests are refused
  int pages = 0;            ///< of an engine's KV cache; 0: as the profile
  double delivery_s = 0;    ///< from the engine to the client's ear: the network
  bool noise = true;        ///< batches vary in time as they did when they were measured
};

/// The most that there may be at once.
int most_workers(const SimulationOptions& options);

/// The workers at one moment. Sums are over those that take requests (`up`).
struct FleetLook {
  double at_s = 0;
  int there = 0;  ///< also those that start, are dead or end what they have
  int up = 0;
  double used = 0, most_used = 0;  ///< of what each can feed: the sum, and the fullest
  double free = 0;                 ///< what their agents say, the sum
  double wait_s = 0;               ///< predicted
  double in_flight = 0;            ///< requests
  double playing = 0;              ///< of them, those that have had something
};

/// What the workers did, beside what the listeners heard.
struct FleetUse {
  std::vector<FleetLook> looks;  ///< Fleet::agent_s apart, after the warm-up
  int64_t retried = 0;           ///< how often a request was made of another worker
};

/// Times of the result are virtual. Throws LoadError for an unknown policy. With `day`, a rate is
/// that of its highest level, and the load follows it.
LoadResult simulate(const StepProfile& profile, const SimulationOptions& options,
                    const LoadPoint& point, const TrafficOptions& traffic, const Day* day = nullptr,
                    FleetUse* use = nullptr);

}  // namespace syrinx
