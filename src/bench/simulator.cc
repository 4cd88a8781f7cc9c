#include "bench/simulator.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <queue>
#include <utility>

#include "base/check.h"
#include "bench/arrivals.h"
#include "bench/profiled_pipeline.h"
#include "engine/scheduler.h"
#include "engine/virtual_platform.h"

namespace syrinx {
namespace {

constexpr double kAgain_s = 0.1;  // after a refusal

/// A client: notes when audio came, since the request was due.
class Listener : public Sink {
 public:
  using Done = std::function<void(const RequestRecord& record, double heard_until_s)>;
  Listener(const RequestRecord& record, const Platform& platform, int rate_hz, double delivery_s,
           Done done)
      : record_(record),
        platform_(platform),
        rate_hz_(rate_hz),
        delivery_s_(delivery_s),
        done_(std::move(done)) {}

  void text(std::string_view, std::span<const ScoredToken>) override { answered(); }
  void audio(std::span<const float> samples) override {
    answered();
    if (!record_.first_audio_s) record_.first_audio_s = since_due_s();
    heard_.arrive(since_due_s(), static_cast<double>(samples.size()) / rate_hz_);
  }
  void finished(const Outcome& outcome) override {
    record_.playback = heard_.figures();
    record_.total_s = since_due_s();
    if (outcome.reason == FinishReason::kError) {
      record_.failure = Failure::kStatus;
      record_.status = outcome.error.code == ErrorCode::kOverloaded ? 503 : 500;
      record_.detail = outcome.error.message;
    }
    done_(record_, record_.due_s + heard_.ends_s());
  }

 private:
  void answered() {
    if (!record_.first_byte_s) record_.first_byte_s = since_due_s();
  }
  double since_due_s() const { return platform_.now() + delivery_s_ - record_.due_s; }

  RequestRecord record_;
  Playback heard_;
  const Platform& platform_;
  const int rate_hz_;
  const double delivery_s_;
  const Done done_;
};

PlacesSpec places_of(const SimulationOptions& options) {
  PlacesSpec spec;
  if (options.split) {
    spec.places = {{1, false}, {1, true}};
    spec.split = true;
  } else {
    spec.places.assign(options.executors, {1, true});
    spec.inline_run = options.executors == 1;
  }
  return spec;
}

EngineOptions engine_options(const StepProfile& profile, const SimulationOptions& options) {
  EngineOptions out;
  out.policy = options.policy;
  out.max_batch = options.max_batch;
  out.max_prefill_rows = options.max_prefill_rows;
  out.max_requests = options.max_requests;
  out.max_wait_s = options.max_wait_s;
  // Pages of the profile may have other sizes; here one costs a byte.
  const int64_t rows =
      int64_t{options.pages > 0 ? options.pages : profile.pages} * profile.page_rows;
  out.kv_bytes = std::max<int64_t>(1, rows / KvPool::kPageRows);
  out.share_prefixes = false;
  out.repetition_s = 0;  // all frames are alike
  return out;
}

/// The engine's own scheduler on a clock of its own. What goes round it mirrors engine/machine.cc
/// and Engine::submit().
class SimulatedEngine {
 public:
  SimulatedEngine(const StepProfile& profile, const SimulationOptions& options, uint64_t seed)
      : profile_(profile),
        noise_(options.noise),
        spec_(places_of(options)),
        options_(engine_options(profile, options)),
        random_(seed),
        platform_(spec_, {.lay_out_s = [this](const Batch& batch) { return lay_out_s(batch); },
                          .batch_s = [this](const Batch& batch) { return batch_s(batch); },
                          .run = write_silence}),
        pipeline_(make_profiled_pipeline(profile, options.whole)),
        metrics_(names()),
        model_(pipeline_, options_, metrics_),
        scheduler_(options_, spec_, platform_) {
    scheduler_.add(model_);
    load_ = scheduler_.load(model_);
  }

  int unfinished() const { return unfinished_; }
  const Platform& clock() const { return platform_; }
  int rate_hz() const { return pipeline_->info().sample_rate; }
  /// A request arrives; its prompt is made first, one after another. Empty: it was let in; else why
  /// not, and the sink is never called.
  std::string submit(size_t utterance, std::shared_ptr<Sink> sink, double now);
  /// When something happens next; infinite: nothing will.
  double next_event_s() const;
  /// Does what is due.
  void turn(double now);

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Node& node : pipeline_->graph().nodes()) names.push_back(node.name);
    return names;
  }
  double draw(const std::vector<double>& spread) {
    if (!noise_ || spread.empty()) return 1;
    return spread[static_cast<size_t>(uniform(random_) * static_cast<double>(spread.size()))];
  }
  double lay_out_s(const Batch& batch) const {
    return profile_.batch_overhead_s +
           profile_.sequence_overhead_s * static_cast<double>(batch.owners.size());
  }
  double batch_s(const Batch& batch);
  static void write_silence(Batch& batch);

  const StepProfile& profile_;
  const bool noise_;
  const PlacesSpec spec_;
  const EngineOptions options_;
  std::mt19937_64 random_;
  VirtualPlatform platform_;
  const std::shared_ptr<const Pipeline> pipeline_;
  EngineMetrics metrics_;
  ResidentModel model_;
  Scheduler scheduler_;

  std::deque<std::pair<double, std::unique_ptr<Active>>> mail_;  ///< when it is ready
  double prompts_free_s_ = 0;
  RequestId next_id_ = 1;
  int unfinished_ = 0;
  Load load_;
  double look_again_s_ = INFINITY;
  std::vector<Scheduler::Ended> ended_;
};

std::string SimulatedEngine::submit(size_t utterance, std::shared_ptr<Sink> sink, double now) {
  Load load = load_;
  load.waiting += static_cast<int>(mail_.size());
  const double wait_s = predicted_wait_s(load);
  if (unfinished_ >= options_.max_requests ||
      (wait_s > options_.max_wait_s && std::isfinite(wait_s))) {
    return "the engine refuses: overloaded";
  }
  SpeechRequest request;
  request.seed = utterance;
  Result<std::unique_ptr<Active>> opened = open_active(model_, request, std::move(sink), now);
  if (!opened.ok()) return opened.error().message;
  prompts_free_s_ = std::max(prompts_free_s_, now) + profile_.utterances[utterance].open_s;
  const double wake_s = unfinished_ == 0 ? profile_.wake_s : 0;
  ++unfinished_;
  opened.value()->id = next_id_++;
  mail_.emplace_back(prompts_free_s_ + wake_s, opened.take());
  return {};
}

double SimulatedEngine::next_event_s() const {
  const double back_s = platform_.next_s();
  // An engine that runs batches on its own thread looks at its mail between them.
  if (unfinished_ == 0 || (spec_.inline_run && std::isfinite(back_s))) return back_s;
  return std::min({back_s, look_again_s_, mail_.empty() ? INFINITY : mail_.front().first});
}

void SimulatedEngine::turn(double now) {
  platform_.set(now);
  platform_.hand_back(scheduler_);
  while (!mail_.empty() && mail_.front().first <= now) {
    scheduler_.take_in(std::move(mail_.front().second));
    mail_.pop_front();
  }
  // With batches away, planning again would find what it has just found.
  while (scheduler_.dispatch() && scheduler_.away() == 0) {
  }
  scheduler_.take_ended(ended_);
  unfinished_ -= static_cast<int>(ended_.size());
  load_ = scheduler_.load(model_);
  look_again_s_ = now + scheduler_.look_again_s();
}

double SimulatedEngine::batch_s(const Batch& batch) {
  if (batch.kind() == Plan::kChunks) {
    const size_t link = batch.node - profile_.ars.size();
    const auto jobs = static_cast<int>(batch.owners.size());
    return profile_.chunks_s(link, jobs, static_cast<double>(batch.units()) / jobs) *
           draw(profile_.links[link].spread);
  }
  int decodes = 0, prompt_rows = 0;
  double kv = 0;
  for (const StepSequence& sequence : batch.sequences()) {
    if (sequence.rows == 1 && sequence.first_pos > 0) {
      ++decodes;
      kv += sequence.first_pos;
    } else {
      prompt_rows += sequence.rows;
    }
  }
  const ArProfile& ar = profile_.ars[batch.node];
  return ar.step_s(decodes, decodes > 0 ? kv / decodes : 0, prompt_rows) * draw(ar.spread);
}

/// What an executor would leave; the samples are there already.
void SimulatedEngine::write_silence(Batch& batch) {
  if (batch.kind() != Plan::kAr) return;
  const auto sampled = std::count_if(batch.sequences().begin(), batch.sequences().end(),
                                     [](const StepSequence& s) { return s.emits && !s.companion; });
  batch.codes_per_step = 1;
  batch.codes.assign(sampled, 0);
  batch.status.assign(sampled, SampleStatus::kOk);
}

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
  const size_t utterance = rounds_.next();
  if (due.client >= 0) ++made_[due.client];
  RequestRecord record;
  record.due_s = due.at_s;
  record.text_bytes = profile_.utterances[utterance].text_bytes;
  record.warmup = due.at_s < traffic_.warmup_s;
  SimulatedEngine& engine = **std::min_element(
      engines_.begin(), engines_.end(),
      [](const auto& a, const auto& b) { return a->unfinished() < b->unfinished(); });
  const auto done = [this, client = due.client, &engine](const RequestRecord& ended,
                                                         double heard_until_s) {
    keep(ended);
    const double now = engine.clock().now() + (ended.ok() ? 0 : kAgain_s);
    ask_again(client, point_.kind == LoadKind::kRealtime ? std::max(now, heard_until_s) : now);
  };
  const auto sink = std::make_shared<Listener>(record, engine.clock(), engine.rate_hz(),
                                               options_.delivery_s, done);
  const std::string refused = engine.submit(utterance, sink, due.at_s);
  if (refused.empty()) return;
  record.failure = Failure::kStatus;
  record.status = 503;
  record.detail = refused;
  keep(record);
  ask_again(due.client, due.at_s + kAgain_s);
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
