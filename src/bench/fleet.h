// A fleet as it is planned: workers behind a balancer, the day that its listeners have, workers
// that die, workers that come and go with the load. Plain data, seconds throughout; any thread.
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
  int voices = 0;    ///< 0: none; requests go to the least loaded
  double share = 1;  ///< of requests, those with such a voice
  double skew = 1;   ///< voice i is asked for in proportion to 1 / (i + 1)^skew
};

/// At `at_s` `workers` workers are killed; `for_s` later they are ready again.
struct WorkerFailure {
  double at_s = 0, for_s = 60;
  int workers = 1;
};
/// "3600+60" or "3600+60x10": start and duration in seconds, workers. Throws LoadError.
WorkerFailure read_failure(const std::string& text);

/// Kubernetes' horizontal autoscaler with packaging/kubernetes/autoscaler.yaml.
struct Autoscaling {
  int least = 1, most = 1;
  double load = 0.6;     ///< streams by the streams that the costs allow, of a worker on average
  double wait_s = 0.25;  ///< predicted, of a worker on average
  double start_s = 60;   ///< from the wish until a worker is ready: machine, image, weights
  double every_s = 15;   ///< between two looks
  double keep_s = 300;   ///< seconds for which fewer must have been enough before there are fewer
  int fewer_per_min = 1;
};

/// Kubernetes' rule of how many workers there should be.
class Autoscaler {
 public:
  explicit Autoscaler(const Autoscaling& options) : options_(options) {}
  /// How many there should be. `load` and `wait_s` are sums over the ready ones of `have` workers,
  /// the others being on their way.
  int wish(int have, double load, double wait_s, double now_s);

 private:
  const Autoscaling options_;
  std::deque<std::pair<double, int>> wishes_;  // of the last keep_s
  double fewer_since_s_ = 0;                   // when some were last
};

/// Workers, balancer and failures of a simulated fleet; times in seconds.
struct Fleet {
  double agent_s = 0.25;  ///< how old the balancer's picture gets
  double check_s = 1;     ///< from ready until the balancer has noticed: two checks of 0.5 s
  double slow_start_s = 10;
  double bound = 1.5;  ///< of a voice's home, by the mean
  int retries = 4;     ///< of a request that no audio was made of yet
  VoiceMix voices;
  std::vector<WorkerFailure> failures;
  std::optional<Autoscaling>
      autoscaling;  ///< SimulationOptions::replicas is how many there are first
};

/// Load by the time of day: levels in [0, 1], evenly spread over `day_s`, straight between them and
/// from the last to the first.
struct Day {
  double day_s = 86400;
  std::vector<double> levels;
  double level(double at_s) const;
};
/// A day of a service that people talk to: little at night, a peak in the evening. Made up.
std::vector<double> usual_day();

}  // namespace syrinx
