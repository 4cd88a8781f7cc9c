#include "bench/simulator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <queue>
#include <utility>

#include "base/check.h"
#include "bench/arrivals.h"
#include "bench/balancer.h"
#include "bench/simulated_engine.h"
#include "bench/simulated_listener.h"

namespace syrinx {
namespace {

constexpr double kAgain_s = 0.1;    // seconds until a refused listener tries again
constexpr double kMostWait_s = 10;  // larger predictions (even infinite ones) count as this value

/// A place for a worker. The place may be empty.
struct Worker {
  std::unique_ptr<SimulatedEngine> engine;  ///< unset while absent, starting or dead
  bool wanted = false;                      ///< part of the fleet, perhaps still starting
  int life = 0;                             ///< changes when the worker is killed or stopped
  std::map<uint64_t, std::shared_ptr<Listener>> listeners;
};

/// Traffic and workers on one virtual clock. The traffic equals that of bench/load.cc: the same
/// seed gives the same arrivals and the same order of texts.
class Simulation {
 public:
  Simulation(const StepProfile& profile, const SimulationOptions& options, const LoadPoint& point,
             const TrafficOptions& traffic, const Day* day);

  LoadResult run();
  const FleetUse& use() const { return use_; }

 private:
  /// A request to be sent; `client` is -1 in an open loop.
  struct Due {
    double at_s;
    int client;
    /// A request that failed on another worker; unset for a new request.
    std::shared_ptr<Asked> again = {};
    bool operator>(const Due& other) const { return at_s > other.at_s; }
  };
  /// An event of the fleet.
  struct Turn {
    enum Kind { kLook, kFail, kReady, kUp, kScale } kind;
    double at_s;
    int which = 0;  ///< number of a worker or a failure
    int life = 0;
    bool operator>(const Turn& other) const {
      return at_s != other.at_s ? at_s > other.at_s : kind > other.kind;
    }
  };

  double end_s() const { return traffic_.warmup_s + traffic_.duration_s; }
  void first_arrivals();
  void ask_again(int client, double now);
  void launch(const Due& due);
  void send(Asked asked, double now);
  void retry(Asked asked, int worker, double now);
  void ended(int worker, uint64_t id, Asked asked, double heard_until_s);
  void refused(Asked asked, const std::string& why, double now);
  void keep(const RequestRecord& record);

  void take(const Turn& turn);
  void start(int worker, double ready_s);
  void make(int worker, double now);
  void kill(int worker, double now);
  void look(double now);
  void scale(double now);

  const StepProfile& profile_;
  const SimulationOptions& options_;
  const LoadPoint point_;
  const TrafficOptions& traffic_;
  const Day* const day_;
  Rounds rounds_;
  std::mt19937_64 voice_random_;
  std::vector<double> voices_;  // cumulative shares of the cloned voices
  std::vector<Worker> workers_;
  Balancer balancer_;
  std::optional<Autoscaler> autoscaler_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns_;
  std::vector<int> made_;  // requests made by each client
  uint64_t next_id_ = 0, engines_made_ = 0;
  LoadResult result_;
  FleetUse use_;
};

Simulation::Simulation(const StepProfile& profile, const SimulationOptions& options,
                       const LoadPoint& point, const TrafficOptions& traffic, const Day* day)
    : profile_(profile),
      options_(options),
      point_(point),
      traffic_(traffic),
      day_(day),
      rounds_(profile.utterances.size(), traffic.seed),
      voice_random_(traffic.seed + 1),
      workers_(static_cast<size_t>(most_workers(options))),
      balancer_(most_workers(options),
                {.slow_start_s = options.fleet.slow_start_s, .bound = options.fleet.bound}) {
  const Fleet& fleet = options.fleet;
  for (const double each : zipf(fleet.voices.voices, fleet.voices.skew)) {
    voices_.push_back((voices_.empty() ? 0 : voices_.back()) + each);
  }
  for (int i = 0; i < options.replicas; ++i) {
    workers_[static_cast<size_t>(i)].wanted = true;
    make(i, 0);
    balancer_.up(i, 0, false);
  }
  turns_.push({Turn::kLook, fleet.agent_s});
  for (size_t i = 0; i < fleet.failures.size(); ++i) {
    turns_.push({Turn::kFail, fleet.failures[i].at_s, static_cast<int>(i)});
  }
  if (fleet.autoscaling) {
    autoscaler_.emplace(*fleet.autoscaling);
    turns_.push({Turn::kScale, fleet.autoscaling->every_s});
  }
}

void Simulation::first_arrivals() {
  if (point_.kind == LoadKind::kRate) {
    std::mt19937_64 thinned(traffic_.seed + 2);
    for (const double at : poisson_arrivals(point_.level, end_s(), traffic_.seed)) {
      if (!day_ || uniform(thinned) < day_->level(at)) due_.push({at, -1});
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
  if (due.again) return send(*due.again, due.at_s);
  Asked asked;
  asked.utterance = rounds_.next();
  asked.client = due.client;
  if (due.client >= 0) ++made_[due.client];
  asked.record.due_s = due.at_s;
  asked.record.text_bytes = profile_.utterances[asked.utterance].text_bytes;
  asked.record.warmup = due.at_s < traffic_.warmup_s;
  if (!voices_.empty() && uniform(voice_random_) < options_.fleet.voices.share) {
    const double at = uniform(voice_random_) * voices_.back();
    asked.voice = std::lower_bound(voices_.begin(), voices_.end(), at) - voices_.begin();
  }
  send(std::move(asked), due.at_s);
}

void Simulation::send(Asked asked, double now) {
  while (true) {
    const std::optional<int> chosen = balancer_.open(asked.voice, now, asked.avoid);
    if (!chosen) return refused(std::move(asked), "no worker accepts requests", now);
    Worker& worker = workers_[static_cast<size_t>(*chosen)];
    const uint64_t id = next_id_++;
    const auto sink = std::make_shared<Listener>(
        asked, worker.engine->clock(), worker.engine->rate_hz(), options_.delivery_s,
        [this, number = *chosen, id](Asked over, double heard_until_s) {
          ended(number, id, std::move(over), heard_until_s);
        });
    const std::string why = worker.engine->submit(asked.utterance, sink, now);
    if (why.empty()) {
      worker.listeners.emplace(id, sink);
      return;
    }
    balancer_.close(*chosen, asked.voice.has_value());
    if (workers_.size() == 1 || asked.tries == options_.fleet.retries) {
      return refused(std::move(asked), why, now);
    }
    ++asked.tries, ++use_.retried;
    asked.avoid = *chosen;
  }
}

void Simulation::refused(Asked asked, const std::string& why, double now) {
  RequestRecord& record = asked.record;
  record.failure = Failure::kStatus;
  record.status = 503;
  record.detail = why;
  keep(record);
  ask_again(asked.client, now + kAgain_s);
}

/// Sends a request whose answer has not begun to another worker.
void Simulation::retry(Asked asked, int worker, double now) {
  ++asked.tries, ++use_.retried;
  asked.avoid = worker;
  RequestRecord fresh;
  fresh.due_s = asked.record.due_s;
  fresh.text_bytes = asked.record.text_bytes;
  fresh.warmup = asked.record.warmup;
  asked.record = fresh;
  due_.push({now, asked.client, std::make_shared<Asked>(std::move(asked))});
}

void Simulation::ended(int number, uint64_t id, Asked asked, double heard_until_s) {
  Worker& worker = workers_[static_cast<size_t>(number)];
  const std::shared_ptr<Listener> held = worker.listeners.at(id);
  worker.listeners.erase(id);
  balancer_.close(number, asked.voice.has_value());
  const double now = worker.engine->clock().now();
  const RequestRecord& record = asked.record;
  const bool again = record.status == 503 && !record.first_byte_s && workers_.size() > 1;
  if (again && asked.tries < options_.fleet.retries) return retry(asked, number, now);
  keep(record);
  const double free_s = now + (record.ok() ? 0 : kAgain_s);
  ask_again(asked.client,
            point_.kind == LoadKind::kRealtime ? std::max(free_s, heard_until_s) : free_s);
}

void Simulation::take(const Turn& turn) {
  const double now = turn.at_s;
  const Fleet& fleet = options_.fleet;
  switch (turn.kind) {
    case Turn::kLook:
      look(now);
      turns_.push({Turn::kLook, now + fleet.agent_s});
      break;
    case Turn::kScale:
      scale(now);
      turns_.push({Turn::kScale, now + fleet.autoscaling->every_s});
      break;
    case Turn::kFail: {
      const WorkerFailure& failure = fleet.failures[static_cast<size_t>(turn.which)];
      int left = failure.workers;
      for (int i = 0; i < static_cast<int>(workers_.size()) && left > 0; ++i) {
        if (!balancer_.is_up(i)) continue;
        kill(i, now);
        start(i, now + failure.for_s);
        --left;
      }
      break;
    }
    case Turn::kReady:
      if (turn.life != workers_[static_cast<size_t>(turn.which)].life) break;
      make(turn.which, now);
      turns_.push({Turn::kUp, now + fleet.check_s, turn.which, turn.life});
      break;
    case Turn::kUp:
      if (turn.life == workers_[static_cast<size_t>(turn.which)].life) {
        balancer_.up(turn.which, now, true);
      }
      break;
  }
}

void Simulation::start(int worker, double ready_s) {
  Worker& place = workers_[static_cast<size_t>(worker)];
  place.wanted = true;
  turns_.push({Turn::kReady, ready_s, worker, ++place.life});
}

void Simulation::make(int worker, double now) {
  workers_[static_cast<size_t>(worker)].engine =
      std::make_unique<SimulatedEngine>(profile_, options_, traffic_.seed + engines_made_++, now);
}

/// Kills a worker. Requests whose answer has begun are cut off; others are sent to other workers.
void Simulation::kill(int number, double now) {
  Worker& worker = workers_[static_cast<size_t>(number)];
  balancer_.down(number);
  ++worker.life;
  for (const auto& [id, listener] : std::exchange(worker.listeners, {})) {
    const bool answered = listener->answered();
    Asked asked = listener->cut();
    if (!answered && asked.tries < options_.fleet.retries && workers_.size() > 1) {
      retry(std::move(asked), number, now);
      continue;
    }
    asked.record.failure = Failure::kCut;
    asked.record.detail = "its worker was killed";
    asked.record.total_s = now - asked.record.due_s;
    keep(asked.record);
    ask_again(asked.client, now + kAgain_s);
  }
  worker.engine.reset();
}

/// Reads the reports of all agents, for the balancer and for the figures.
void Simulation::look(double now) {
  FleetLook look{.at_s = now};
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    look.there += worker.wanted || worker.engine;
    if (!worker.engine) continue;
    if (!worker.wanted && worker.engine->unfinished() == 0) {
      worker.engine.reset();  // all requests of the stopped worker have ended
      continue;
    }
    const double used = worker.engine->used();
    const double free = worker.engine->free();
    balancer_.agent(i, std::clamp(std::ceil(100 * free), 1.0, 100.0));
    if (!balancer_.is_up(i)) continue;
    ++look.up;
    look.used += used, look.free += free;
    look.most_used = std::max(look.most_used, used);
    look.wait_s += std::min(kMostWait_s, worker.engine->predicted_wait_s());
    look.in_flight += static_cast<double>(worker.listeners.size());
    for (const auto& [id, listener] : worker.listeners) look.playing += listener->answered();
  }
  if (now >= traffic_.warmup_s && now < end_s()) use_.looks.push_back(look);
}

void Simulation::scale(double now) {
  int have = 0;
  double used = 0, wait_s = 0;
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i) {
    const Worker& worker = workers_[static_cast<size_t>(i)];
    have += worker.wanted;
    if (!worker.wanted || !worker.engine) continue;
    used += worker.engine->used();
    wait_s += std::min(kMostWait_s, worker.engine->predicted_wait_s());
  }
  const int wish = autoscaler_->wish(have, used, wait_s, now);
  for (int i = 0; have < wish && i < static_cast<int>(workers_.size()); ++i) {
    const Worker& worker = workers_[static_cast<size_t>(i)];
    if (worker.wanted || worker.engine) continue;
    start(i, now + options_.fleet.autoscaling->start_s);
    ++have;
  }
  for (int i = static_cast<int>(workers_.size()) - 1; have > wish && i >= 0; --i) {
    Worker& worker = workers_[static_cast<size_t>(i)];
    if (!worker.wanted) continue;
    worker.wanted = false;
    ++worker.life;
    balancer_.down(i);
    --have;
  }
}

LoadResult Simulation::run() {
  result_.point = point_;
  result_.warmup_s = traffic_.warmup_s;
  first_arrivals();
  while (true) {
    const double arrival_s = due_.empty() ? INFINITY : due_.top().at_s;
    SimulatedEngine* next = nullptr;
    double event_s = INFINITY;
    for (const Worker& worker : workers_) {
      if (!worker.engine) continue;
      const double at = worker.engine->next_event_s();
      if (at < event_s) event_s = at, next = worker.engine.get();
    }
    if (arrival_s == INFINITY && event_s == INFINITY) break;
    if (turns_.top().at_s <= std::min(arrival_s, event_s)) {
      const Turn turn = turns_.top();
      turns_.pop();
      take(turn);
    } else if (arrival_s <= event_s) {
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

int most_workers(const SimulationOptions& options) {
  const auto& autoscaling = options.fleet.autoscaling;
  return std::max(options.replicas, autoscaling ? autoscaling->most : 0);
}

LoadResult simulate(const StepProfile& profile, const SimulationOptions& options,
                    const LoadPoint& point, const TrafficOptions& traffic, const Day* day,
                    FleetUse* use) {
  SYRINX_CHECK(point.kind != LoadKind::kTrace, "traces are not simulated");
  SYRINX_CHECK(options.executors > 0 && options.replicas > 0);
  if (find_policy(options.policy) == nullptr) {
    throw LoadError("unknown policy '" + options.policy + "'");
  }
  Simulation simulation(profile, options, point, traffic, day);
  LoadResult result = simulation.run();
  if (use) *use = simulation.use();
  return result;
}

}  // namespace syrinx
