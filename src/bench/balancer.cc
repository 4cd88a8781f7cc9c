#include "bench/balancer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace syrinx {
namespace {

// Points of a worker on the ring: HAProxy has 16 points per unit of weight (100).
constexpr int kPoints = 1600;
constexpr double kLeastShare = 0.01;

/// Returns x scattered by the mixer of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t scattered(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

HashRing::HashRing(int workers) {
  points_.reserve(static_cast<size_t>(workers) * kPoints);
  for (int worker = 0; worker < workers; ++worker) {
    for (int i = 0; i < kPoints; ++i) {
      points_.emplace_back(scattered((static_cast<uint64_t>(worker) << 32) + i), worker);
    }
  }
  std::sort(points_.begin(), points_.end());
}

size_t HashRing::at(uint64_t voice) const {
  const std::pair<uint64_t, int> from{scattered(~voice), -1};
  const auto after = std::lower_bound(points_.begin(), points_.end(), from);
  return after == points_.end() ? 0 : static_cast<size_t>(after - points_.begin());
}

Balancer::Balancer(int workers, const BalancerOptions& options)
    : options_(options), workers_(static_cast<size_t>(workers)), ring_(workers) {}

void Balancer::up(int worker, double now_s, bool slow) {
  of(worker) = {.up = true, .slow_since_s = now_s, .slow = slow, .turn = of(worker).turn};
}

/// Returns the share in [0, 1] of a worker's weight that counts during its slow start.
double Balancer::share(const Worker& worker, double now_s) const {
  const double since_s = now_s - worker.slow_since_s;
  const double risen = worker.slow && since_s < options_.slow_start_s
                           ? std::max(kLeastShare, since_s / options_.slow_start_s)
                           : 1;
  return std::max(kLeastShare, risen);
}

std::optional<int> Balancer::open(std::optional<uint64_t> voice, double now_s, int avoid) {
  int chosen = voice ? home(*voice, now_s, avoid) : least(now_s, avoid);
  if (chosen < 0 && avoid >= 0) chosen = voice ? home(*voice, now_s, -1) : least(now_s, -1);
  if (chosen < 0) return std::nullopt;
  ++of(chosen).connections[voice ? 1 : 0];
  of(chosen).turn = ++turns_;
  return chosen;
}

void Balancer::close(int worker, bool voice) {
  int& connections = of(worker).connections[voice ? 1 : 0];
  connections = std::max(0, connections - 1);
}

int Balancer::least(double now_s, int avoid) {
  int best = -1;
  double best_key = 0;
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    const Worker& worker = of(i);
    if (!worker.up || i == avoid) continue;
    const int open = worker.connections[0];
    const double key =
        open == 0 ? 0 : (open + 1) / std::max(kLeastShare, share(worker, now_s) * worker.free);
    if (best < 0 || key < best_key || (key == best_key && worker.turn < of(best).turn)) {
      best = i, best_key = key;
    }
  }
  return best;
}

/// Chooses the home of a voice. Weights reflect only the slow start, not the agents' reports.
int Balancer::home(uint64_t voice, double now_s, int avoid) {
  double total = 0;
  int open = 1;  // connections with voices, including the new request
  for (const Worker& worker : workers_) {
    if (worker.up) total += share(worker, now_s), open += worker.connections[1];
  }
  const auto takes = [&](int i) {
    const Worker& worker = of(i);
    if (!worker.up || i == avoid) return false;
    const double room = std::ceil(open * options_.bound) * share(worker, now_s) / total;
    return worker.connections[1] < std::max(1.0, std::ceil(room));
  };
  return ring_.find(voice, takes).value_or(-1);
}

std::vector<double> voice_shares(const HashRing& ring, const std::vector<bool>& up,
                                 const std::vector<double>& popularity, double bound) {
  std::vector<double> shares(up.size());
  const auto ups = std::count(up.begin(), up.end(), true);
  if (ups == 0) return shares;
  const double most = bound / static_cast<double>(ups);
  for (size_t voice = 0; voice < popularity.size(); ++voice) {
    double left = popularity[voice];
    ring.find(voice, [&](int worker) {
      const auto i = static_cast<size_t>(worker);
      if (!up[i]) return false;
      const double taken = std::min(left, most - shares[i]);
      shares[i] += taken, left -= taken;
      return left <= 1e-15;
    });
  }
  return shares;
}

std::vector<double> zipf(int voices, double skew) {
  std::vector<double> out;
  for (int i = 0; i < voices; ++i) out.push_back(std::pow(i + 1, -skew));
  const double sum = std::accumulate(out.begin(), out.end(), 0.0);
  for (double& each : out) each /= sum;
  return out;
}

}  // namespace syrinx
