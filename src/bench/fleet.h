// Description of a fleet: workers behind a balancer, the load of a day, workers that die, and
// workers that start and stop with the load. Plain data, seconds throughout; any thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace syrinx {

/// Voices that listeners have cloned.
struct VoiceMix {
  int voices = 0;    ///< number of cloned voices; 0 sends all requests to the least loaded worker
  double share = 1;  ///< share of requests that use a cloned voice
  double skew = 1;   ///< voice i is used in proportion to 1 / (i + 1)^skew
};

/// At `at_s` seconds, `workers` workers are killed. After `for_s` seconds they are ready again.
struct WorkerFailure {
  double at_s = 0, for_s = 60;
  int workers = 1;
};
/// Reads "3600+60" or "3600+60x10": start and duration in seconds, and workers. Throws LoadError.
WorkerFailure read_failure(const std::string& text);

/// The settings of packaging/kubernetes/autoscaler.yaml for Kubernetes' horizontal autoscaler.
struct Autoscaling {
  int least = 1, most = 1;
  double load = 0.6;     ///< target: streams / streams that the costs allow, mean of the workers
  double wait_s = 0.25;  ///< target: predicted wait in seconds, mean of the workers
  double start_s = 60;   ///< seconds to get a machine, the image and the weights of a new worker
  double every_s = 15;   ///< seconds between two decisions
  double keep_s = 300;   ///< a worker stops after fewer workers were enough for these seconds
  int fewer_per_min = 1;
};

/// Kubernetes' rule for the number of workers.
class Autoscaler {
 public:
  explicit Autoscaler(const Autoscaling& options) : options_(options) {}
  /// Returns the wanted number of workers. `have`: workers, including workers that still start.
  /// `load`, `wait_s`: sums over the ready workers.
  int wish(int have, double load, double wait_s, double now_s);

 private:
  const Autoscaling options_;
  std::deque<std::pair<double, int>> wishes_;  // time, workers: results of the last keep_s
  double fewer_since_s_ = 0;                   // time of the last decision to stop workers
};

/// Workers, balancer and failures of a simulated fleet; times in seconds.
struct Fleet {
  double agent_s = 0.25;  ///< seconds between two reports of each worker to the balancer
  double check_s = 1;     ///< seconds until the balancer uses a ready worker: two checks of 0.5 s
  double slow_start_s = 10;
  double bound = 1.5;  ///< see BalancerOptions::bound
  int retries = 4;     ///< most retries of a request whose answer has not begun
  VoiceMix voices;
  std::vector<WorkerFailure> failures;
  std::optional<Autoscaling>
      autoscaling;  ///< unset: always SimulationOptions::replicas workers; set: only at first
};

/// The load by the time of day: levels in [0, 1], evenly spaced over `day_s`. Straight lines join
/// the levels, and join the last level to the first.
struct Day {
  double day_s = 86400;
  std::vector<double> levels;
  double level(double at_s) const;
};
/// Returns the levels of a typical day of a conversation service: low at night, with a peak in the
/// evening. The numbers are invented.
std::vector<double> usual_day();

}  // namespace syrinx
