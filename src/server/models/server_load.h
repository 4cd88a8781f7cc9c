// How full a server is, for a balancer that chooses between several. Any thread.
#pragma once

#include "server/models/model_table.h"

namespace syrinx {

/// Over all models that are loaded.
struct ServerLoad {
  int running = 0, waiting = 0;  ///< requests with a place, and queued for one
  double streams = 0;  ///< that the learned costs allow, of the fullest model; 0: not known
  double used = 0;     ///< share of that taken, may be above 1; 0 while not known
  /// Latency of first outputs relative to an idle server, of the model where it is
  /// worst.
  double slowdown = 1;
  double wait_s = 0;      ///< predicted for one more request, of the model where it is longest
  double cache_used = 0;  ///< share of the KV pages in use, of the model where it is largest

  /// Share that is free for more (free_share).
  double free() const;
};

ServerLoad load_of(const ModelTable& models);

}  // namespace syrinx
