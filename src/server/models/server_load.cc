#include "server/models/server_load.h"

#include <algorithm>

#include "engine/admission.h"

namespace syrinx {

ServerLoad load_of(const ModelTable& models) {
  ServerLoad load;
  for (const ModelTable::Entry& model : models.list()) {
    if (!model.backend) continue;
    const EngineStats stats = model.backend->stats();
    load.running += stats.running;
    load.slowdown = std::max(load.slowdown, stats.slowdown);
    load.waiting += stats.requests - stats.running;
    double streams = stats.capacity_streams;
    if (stats.seats_limit > 0 && streams > 0) streams = std::min(streams, stats.seats_limit);
    const double used = streams > 0 ? stats.requests / streams : 0;
    if (used >= load.used && streams > 0) load.used = used, load.streams = streams;
    if (stats.pages > 0) {
      const double pages_used = 1 - static_cast<double>(stats.pages_free) / stats.pages;
      load.cache_used = std::max(load.cache_used, pages_used);
    }
    if (const EngineMetrics* metrics = model.backend->metrics()) {
      load.wait_s = std::max(load.wait_s, metrics->predicted_wait_s.value());
    }
  }
  return load;
}

double ServerLoad::free() const { return free_share(used, slowdown); }

}  // namespace syrinx
