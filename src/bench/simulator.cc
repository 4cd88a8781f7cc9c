#include "bench/simulator.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <queue>
#include <utility>

#include "base/check.h"
#include "bench/arrivals.h"
#include "bench/simulated_engine.h"

namespace syrinx {
namespace {

/// Traffic and engines on one virtual clock. The traffic follows bench/load.cc: same seed, same
/// arrivals, same order of texts.
class Simulation {
 public:
  Simulation(const StepProfile& profile, const SimulationOptions& options, const LoadPoint& point,
             const TrafficOptions& traffic)
      : profile_(profile),
        options_(options),
        point_(point),
        traffic_(traffic),
        rounds_(profile.utterances.size(), traffic.seed) {
    for (int i = 0; i < options.replicas; ++i) {
      engines_.push_back(std::make_unique<SimulatedEngine>(profile, options, traffic.seed + i));
    }
  }

  LoadResult run();

 private:
  /// A request that is to be made; of a client when there are clients.
  struct Due {
    double at_s;
    int client;
    bool operator>(const Due& other) const { return at_s > other.at_s; }
  };

  double end_s() const { return traffic_.warmup_s + traffic_.duration_s; }
  void first_arrivals();
  void ask_again(int client, double now);
  void launch(const Due& due);
  void keep(const RequestRecord& record);

  const StepProfile& profile_;
  const SimulationOptions& options_;
  const LoadPoint point_;
  const TrafficOptions& traffic_;
  Rounds rounds_;
  std::vector<std::unique_ptr<SimulatedEngine>> engines_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::vector<int> made_;  // by each client
  LoadResult result_;
};

void Simulation::first_arrivals() {
  if (point_.kind == LoadKind::kRate) {
    for (const double at : poisson_arrivals(point_.level, end_s(), traffic_.seed)) {
      due_.push({at, -1});
    }
    return;
  }
  std::mt19937_64 random(traffic_.seed);
  made_.resize(static_cast<size_t>(point_.level));
  for (int client = 0; client < static_cast<int>(made_.size()); ++client) {
    const bool spread = point_.kind == LoadKind::kRealtime;
    due_.push({spread ? traffic_.ramp_s * uniform(random) : 0, client});
  }
}

void Simulation::ask_again(int client, double now) {
  if (client < 0 || result_.stopped) return;
  const bool counted = point_.kind == LoadKind::kStreams && traffic_.repeats > 0;
  if (counted ? made_[client] < traffic_.repeats : now < end_s()) due_.push({now, client});
}

void Simulation::keep(const RequestRecord& record) {
  result_.wall_s = std::max(result_.wall_s, record.due_s + record.total_s);
  result_.requests.push_back(record);
  if (traffic_.give_up && !record.warmup && !result_.stopped && traffic_.give_up(record)) {
    result_.stopped = true;
    due_ = {};
  }
}

void Simulation::launch(const Due& due) {
  const UtteranceProfile& utterance = profile_.utterances[rounds_.next()];
  if (due.client >= 0) ++made_[due.client];
  auto request = std::make_unique<SimulatedRequest>();
  request->utterance = &utterance;
  request->due_s = due.at_s;
  request->record.due_s = due.at_s;
  request->record.text_bytes = utterance.text_bytes;
  request->record.warmup = due.at_s < traffic_.warmup_s;
  RequestRecord refused = request->record;
  SimulatedRequest* raw = request.get();
  request->done = [this, raw, client = due.client](double now) {
    keep(raw->record);
    const bool listens = point_.kind == LoadKind::kRealtime;
    ask_again(client, listens ? std::max(now, raw->due_s + raw->heard.ends_s()) : now);
  };
  const auto least = std::min_element(
      engines_.begin(), engines_.end(),
      [](const auto& a, const auto& b) { return a->unfinished() < b->unfinished(); });
  if ((*least)->submit(std::move(request), due.at_s)) return;
  refused.failure = Failure::kStatus;
  refused.status = 503;
  refused.detail = "the engine refuses: overloaded";
  keep(refused);
  ask_again(due.client, due.at_s + 0.1);
}

LoadResult Simulation::run() {
  result_.point = point_;
  result_.warmup_s = traffic_.warmup_s;
  first_arrivals();
  while (true) {
    const double arrival_s = due_.empty() ? INFINITY : due_.top().at_s;
    SimulatedEngine* next = nullptr;
    double event_s = INFINITY;
    for (const auto& engine : engines_) {
      const double at = engine->next_event_s();
      if (at < event_s) event_s = at, next = engine.get();
    }
    if (arrival_s == INFINITY && event_s == INFINITY) break;
    if (arrival_s <= event_s) {
      const Due due = due_.top();
      due_.pop();
      launch(due);
    } else {
      next->turn(event_s);
    }
  }
  if (point_.kind == LoadKind::kRate && !result_.stopped) result_.window_s = traffic_.duration_s;
  return std::move(result_);
}

}  // namespace

LoadResult simulate(const StepProfile& profile, const SimulationOptions& options,
                    const LoadPoint& point, const TrafficOptions& traffic) {
  SYRINX_CHECK(point.kind != LoadKind::kTrace, "traces are not simulated");
  SYRINX_CHECK(options.executors > 0 && options.replicas > 0);
  if (find_policy(options.policy) == nullptr) {
    throw LoadError("there is no policy '" + options.policy + "'");
  }
  return Simulation(profile, options, point, traffic).run();
}

}  // namespace syrinx
