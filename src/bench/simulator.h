// The engine on virtual time: the scheduler of src/engine runs as it is
// (engine/virtual_platform.h); what its batches cost comes from a StepProfile. Hours of traffic
// take seconds. What it leaves out: shared prefixes, late text, readers that pause, and that
// kernels of several executors compete for memory bandwidth. Free of state; any thread.
#pragma once

#include <string>

#include "bench/load.h"
#include "bench/step_profile.h"

namespace syrinx {

struct SimulationOptions {
  std::string policy = "streaming";
  int executors = 1;   ///< of an engine; each runs any stage as fast as the profile says
  bool split = false;  ///< two executors: the AR stage on one, chunk stages on the other
  /// Every node waits for all of what feeds it, as where stages hand on whole results; otherwise
  /// frames go on as they come.
  bool whole = false;
  int replicas = 1;  ///< whole engines; a request goes to the one with the fewest
  int max_batch = 32, max_prefill_rows = 128;
  int max_requests = 256;   ///< of an engine
  double max_wait_s = 0.5;  ///< predicted wait past which requests are refused
  int pages = 0;            ///< of an engine's KV cache; 0: as the profile
  double delivery_s = 0;    ///< from the engine to the client's ear: the network
  bool noise = true;        ///< batches vary in time as they did when they were measured
};

/// Times of the result are virtual. Throws LoadError for an unknown policy.
LoadResult simulate(const StepProfile& profile, const SimulationOptions& options,
                    const LoadPoint& point, const TrafficOptions& traffic);

}  // namespace syrinx
