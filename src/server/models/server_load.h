// The load of a server, for a balancer that chooses among several servers. Any thread.
#pragma once

#include "server/models/model_table.h"

namespace syrinx {

/// The load over all models that are loaded.
struct ServerLoad {
  int running = 0, waiting = 0;  ///< requests with a seat, and requests that wait for a seat
  double streams = 0;  ///< most streams of the fullest model, by its learned costs; 0 if unknown
  double used = 0;     ///< share of `streams` in use, may be above 1; 0 while unknown
  /// First-output latency relative to an idle server, of the slowest model.
  double slowdown = 1;
  double wait_s = 0;      ///< predicted wait of a further request; the largest of all models
  double cache_used = 0;  ///< share of KV pages in use, of the fullest model

  /// Returns the share of the capacity that is free for further requests (free_share).
  double free() const;
};

ServerLoad load_of(const ModelTable& models);

}  // namespace syrinx
