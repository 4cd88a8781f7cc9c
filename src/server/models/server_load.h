// The load of a server, for a balancer that chooses among several servers. Call from any thread.
#pragma once

#include "server/models/model_table.h"

namespace syrinx {

/// The load over all models that are loaded.
struct ServerLoad {
  int running = 0, waiting = 0;  ///< requests with a seat, and requests that wait for a seat
  double streams = 0;            ///< capacity in streams of the most loaded model; 0 while unknown
  double used = 0;               ///< share of `streams` in use, may be above 1; 0 while unknown
  /// Time to the first output of the slowest model, divided by that of an idle server.
  double slowdown = 1;
  double wait_s = 0;      ///< largest predicted wait, over all models, of a further request
  double cache_used = 0;  ///< largest share, over all models, of KV pages in use

  /// Returns the share of the capacity that is free for further requests (free_share).
  double free() const;
};

ServerLoad load_of(const ModelTable& models);

}  // namespace syrinx
