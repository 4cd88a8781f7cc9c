#include "cli/files/batch_servers.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace syrinx {

BatchServers::BatchServers(std::vector<std::string> urls, int jobs) : jobs_(jobs) {
  for (std::string& url : urls) servers_.push_back({.url = std::move(url)});
}

std::optional<BatchServers::Lease> BatchServers::take(double now_s) {
  const std::lock_guard lock(mutex_);
  if (last_good_s_ < 0) last_good_s_ = now_s;
  Server* best = nullptr;
  for (Server& server : servers_) {
    // After a failure, only one request at a time tests the server.
    const int most = server.failures > 0 ? 1 : jobs_;
    if (server.running >= most || server.rests_until_s > now_s) continue;
    if (best == nullptr || server.running < best->running) best = &server;
  }
  if (best == nullptr) return {};
  ++best->running;
  return Lease{static_cast<size_t>(best - servers_.data()), best->url};
}

void BatchServers::give_back(const Lease& lease, double now_s) {
  const std::lock_guard lock(mutex_);
  Server& server = servers_[lease.index];
  --server.running;
  server.failures = 0;
  last_good_s_ = now_s;
}

void BatchServers::failed(const Lease& lease, double rest_s, double now_s) {
  const std::lock_guard lock(mutex_);
  Server& server = servers_[lease.index];
  --server.running;
  // Further failures while the server already rests do not count.
  if (rest_s <= 0 && server.rests_until_s <= now_s) {
    server.failures = std::min(server.failures + 1, 6);
    rest_s = std::min(15.0, 0.25 * std::exp2(server.failures));
  }
  server.rests_until_s = std::max(server.rests_until_s, now_s + rest_s);
}

double BatchServers::last_good_s() const {
  const std::lock_guard lock(mutex_);
  return last_good_s_;
}

}  // namespace syrinx
