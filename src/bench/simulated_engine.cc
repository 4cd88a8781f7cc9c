#include "bench/simulated_engine.h"

#include <algorithm>

#include "base/check.h"
#include "bench/arrivals.h"
#include "bench/profiled_pipeline.h"

namespace syrinx {
namespace {

SlotsSpec slots_of(const SimulationOptions& options) {
  SlotsSpec spec;
  if (options.split) {
    spec.slots = {{1, false}, {1, true}};
    spec.split = true;
  } else {
    spec.slots.assign(options.executors, {1, true});
    spec.inline_run = options.executors == 1 && options.apart.empty();
  }
  for (size_t i = 0; i < options.apart.size(); ++i) spec.slots.push_back({1, false, true});
  return spec;
}

EngineOptions engine_options(const StepProfile& profile, const SimulationOptions& options) {
  EngineOptions out;
  out.policy = options.policy;
  out.max_batch = options.max_batch;
  out.max_prefill_rows = options.max_prefill_rows;
  out.max_requests = options.max_requests;
  out.max_wait_s = options.max_wait_s;
  // Keeps the number of rows, because the profile's pages may have another size than the engine's.
  const int64_t rows =
      int64_t{options.pages > 0 ? options.pages : profile.pages} * profile.page_rows;
  out.kv_bytes = std::max<int64_t>(1, rows / KvPool::kPageRows);
  out.share_prefixes = false;
  out.repetition_s = 0;  // turned off, because frames of silence are all equal
  return out;
}

/// Writes the outputs of a batch; samples are already zero.
void write_silence(Batch& batch) {
  if (batch.kind() != Plan::kAr) return;
  const auto sampled = std::count_if(batch.sequences().begin(), batch.sequences().end(),
                                     [](const StepSequence& s) { return s.emits && !s.companion; });
  batch.codes_per_step = 1;
  batch.codes.assign(sampled, 0);
  batch.status.assign(sampled, SampleStatus::kOk);
}

}  // namespace

SimulatedEngine::SimulatedEngine(const StepProfile& profile, const SimulationOptions& options,
                                 uint64_t seed, double began_s)
    : profile_(profile),
      noise_(options.noise),
      link_s_(options.link_s),
      spec_(slots_of(options)),
      options_(engine_options(profile, options)),
      random_(seed),
      platform_(spec_, {.lay_out_s = [this](const Batch& batch) { return lay_out_s(batch); },
                        .batch_s = [this](const Batch& batch) { return batch_s(batch); },
                        .link_s = [this](const Batch& batch) { return link_s(batch); },
                        .run = write_silence}),
      pipeline_(make_profiled_pipeline(profile, options.whole, options.apart)),
      model_(pipeline_, options_),
      scheduler_(options_, spec_, platform_) {
  platform_.set(began_s);
  scheduler_.add(model_);
  load_ = scheduler_.load(model_);
}

SimulatedEngine::~SimulatedEngine() {
  while (scheduler_.in_flight() > 0) {
    platform_.set(platform_.next_s());
    platform_.hand_back(scheduler_);
  }
  scheduler_.end_all();
}

Load SimulatedEngine::load_now() const {
  Load load = load_;
  load.waiting += static_cast<int>(mail_.size());
  return load;
}

double SimulatedEngine::used() const {
  const double streams = std::min(model_.load.capacity(), model_.load.limit().seats());
  return streams > 0 ? unfinished() / streams : 0;
}

double SimulatedEngine::free() const {
  const double slowdown = Slowdown::faded(std::max(1.0, model_.metrics.slowdown.value()),
                                          platform_.now() - model_.metrics.slowdown_at_s.value());
  return free_share(used(), slowdown);
}

double SimulatedEngine::predicted_wait_s() const { return syrinx::predicted_wait_s(load_now()); }

double SimulatedEngine::draw(const std::vector<double>& spread) {
  if (!noise_ || spread.empty()) return 1;
  return spread[static_cast<size_t>(uniform(random_) * static_cast<double>(spread.size()))];
}

double SimulatedEngine::lay_out_s(const Batch& batch) const {
  return profile_.batch_overhead_s +
         profile_.sequence_overhead_s * static_cast<double>(batch.owners.size());
}

double SimulatedEngine::link_s(const Batch& batch) const {
  const ResidentNode& node = model_.nodes[static_cast<size_t>(batch.node)];
  return node.remote ? link_s_ : 0;
}

std::string SimulatedEngine::submit(size_t utterance, std::shared_ptr<Sink> sink, double now) {
  const double wait_s = predicted_wait_s();
  if (unfinished() >= options_.max_requests ||
      (wait_s > options_.max_wait_s && std::isfinite(wait_s))) {
    return "the engine refuses: overloaded";
  }
  SpeechRequest request;
  request.sampling.seed = utterance;
  Result<std::unique_ptr<Active>> opened = open_active(model_, request, std::move(sink), now);
  if (!opened.ok()) return opened.error().message;
  prompts_free_s_ = std::max(prompts_free_s_, now) + profile_.utterances[utterance].open_s;
  const double wake_s = unfinished() == 0 ? profile_.wake_s : 0;
  opened.value()->id = next_id_++;
  mail_.emplace_back(prompts_free_s_ + wake_s, opened.take());
  return {};
}

double SimulatedEngine::next_event_s() const {
  const double back_s = platform_.next_s();
  // An engine that runs batches on its own thread accepts new requests between batches.
  if (unfinished() == 0 || (spec_.inline_run && std::isfinite(back_s))) return back_s;
  return std::min({back_s, look_again_s_, mail_.empty() ? INFINITY : mail_.front().first});
}

void SimulatedEngine::turn(double now) {
  platform_.set(now);
  platform_.hand_back(scheduler_);
  while (!mail_.empty() && mail_.front().first <= now) {
    scheduler_.take_in(std::move(mail_.front().second));
    mail_.pop_front();
  }
  // While batches are running, planning again would have the same result.
  while (scheduler_.dispatch() && scheduler_.in_flight() == 0) {
  }
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

}  // namespace syrinx
