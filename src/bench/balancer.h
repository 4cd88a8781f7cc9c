// Which worker a request goes to, as HAProxy decides it with packaging/haproxy/haproxy.cfg: least
// connections by the share that a worker's agent says is free; a cloned voice where it is at home,
// by consistent hashing with bounded load; a rising share for a new worker. Rules from
// HAProxy's configuration manual (2.6: balance, hash-balance-factor, slowstart). Values and times
// in seconds; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace syrinx {

/// As packaging/haproxy/haproxy.cfg sets them.
struct BalancerOptions {
  double slow_start_s = 10;
  double bound = 1.5;  ///< connections of one worker by the mean, past which a voice goes elsewhere
};

/// Workers on a circle: a voice is at home with the first one after it that takes it.
class HashRing {
 public:
  explicit HashRing(int workers);
  /// Calls takes(worker), workers in the order of the ring from the voice on and each at least
  /// once, until one takes it.
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
  std::vector<std::pair<uint64_t, int>> points_;  // ascending
};

/// The balancer's choice for each request, and the state of its workers.
class Balancer {
 public:
  /// All are down. At most a fixed number of workers is known by their numbers.
  Balancer(int workers, const BalancerOptions& options);

  /// `slow`: its share rises from now on.
  void up(int worker, double now_s, bool slow);
  void down(int worker) { of(worker).up = false; }
  bool is_up(int worker) const { return of(worker).up; }
  /// What its agent has just said: percent that is free, 1 to 100.
  void agent(int worker, double percent) { of(worker).free = percent / 100; }

  /// Chooses and counts the connection; of another worker than `avoid` where there is one. Unset:
  /// none is up. `voice`: the number of a cloned voice; unset: any worker will do.
  std::optional<int> open(std::optional<uint64_t> voice, double now_s, int avoid = -1);
  void close(int worker, bool voice);

 private:
  struct Worker {
    bool up = false;
    double free = 1;
    double slow_since_s = 0;
    bool slow = false;
    int connections[2] = {0, 0};  // of the backends: any worker, voices
    uint64_t turn = 0;  // the worker that was not chosen for longest comes first among equals
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

/// The part of all requests with a voice that each worker gets in the long run; `popularity` adds
/// up to 1, most popular first; zeros for workers that are not `up`. What does not fit a worker's
/// bound goes on to the next one on the ring.
std::vector<double> voice_shares(const HashRing& ring, const std::vector<bool>& up,
                                 const std::vector<double>& popularity, double bound);

/// Voice i is asked for in proportion to 1 / (i + 1)^skew; adds up to 1.
std::vector<double> zipf(int voices, double skew);

}  // namespace syrinx
