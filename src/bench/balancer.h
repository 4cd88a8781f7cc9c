// Chooses the worker of a request as HAProxy does with packaging/haproxy/haproxy.cfg. A request
// goes to the worker with the fewest connections, weighted by the free share that its agent
// reports. A request with a cloned voice goes to the voice's home worker, by consistent hashing
// with bounded load. The share of a new worker rises slowly. Rules from HAProxy's configuration
// manual (2.6: balance, hash-balance-factor, slowstart). Times are in seconds; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace syrinx {

/// Options of the balancer, with the values of packaging/haproxy/haproxy.cfg.
struct BalancerOptions {
  double slow_start_s = 10;
  double bound = 1.5;  ///< most connections of a voice's home, relative to the mean of all workers
};

/// Workers on a circle. A voice's home is the first worker from the voice's place on that takes it.
class HashRing {
 public:
  explicit HashRing(int workers);
  /// Returns the first worker for which takes(worker) is true; empty without one. Calls takes() in
  /// the order of the ring, beginning at the voice, perhaps several times for a worker.
  template <typename F>
  std::optional<int> find(uint64_t voice, F takes) const {
    const size_t first = at(voice);
    for (size_t i = 0; i < points_.size(); ++i) {
      const int worker = points_[(first + i) % points_.size()].second;
      if (takes(worker)) return worker;
    }
    return std::nullopt;
  }

 private:
  size_t at(uint64_t voice) const;
  std::vector<std::pair<uint64_t, int>> points_;  // position on the ring, worker; ascending
};

/// The balancer's choice for each request, and the state of its workers.
class Balancer {
 public:
  /// At the beginning all workers are down.
  Balancer(int workers, const BalancerOptions& options);

  /// With `slow`, the worker's share rises slowly after this call.
  void up(int worker, double now_s, bool slow);
  void down(int worker) { of(worker).up = false; }
  bool is_up(int worker) const { return of(worker).up; }
  /// Records the worker's free share as its agent reports it: percent, 1 to 100.
  void agent(int worker, double percent) { of(worker).free = percent / 100; }

  /// Chooses a worker and counts the connection. Returns `avoid` only if no other worker is up, and
  /// nothing if no worker is up. `voice`: the number of a cloned voice; unset allows any worker.
  std::optional<int> open(std::optional<uint64_t> voice, double now_s, int avoid = -1);
  void close(int worker, bool voice);

 private:
  struct Worker {
    bool up = false;
    double free = 1;
    double slow_since_s = 0;
    bool slow = false;
    int connections[2] = {0, 0};  // number of requests without and with a cloned voice
    uint64_t turn = 0;  // number of the last choice; used to alternate between equal workers
  };
  Worker& of(int worker) { return workers_[static_cast<size_t>(worker)]; }
  const Worker& of(int worker) const { return workers_[static_cast<size_t>(worker)]; }
  double share(const Worker& worker, double now_s) const;
  int least(double now_s, int avoid);
  int home(uint64_t voice, double now_s, int avoid);

  const BalancerOptions options_;
  std::vector<Worker> workers_;
  const HashRing ring_;
  uint64_t turns_ = 0;
};

/// Returns the share of all requests with a voice that each worker gets in the long run.
/// `popularity`: shares of the voices, most popular first, with the sum 1. Workers that are not
/// `up` get 0. Requests beyond a worker's bound go to the next worker on the ring.
std::vector<double> voice_shares(const HashRing& ring, const std::vector<bool>& up,
                                 const std::vector<double>& popularity, double bound);

/// Returns the shares of the requests that `voices` voices get: proportional to 1 / (i + 1)^skew,
/// with the sum 1.
std::vector<double> zipf(int voices, double skew);

}  // namespace syrinx
