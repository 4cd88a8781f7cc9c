#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/machine.h"
#include "model/language.h"

namespace syrinx {
namespace {

void check(const EngineOptions& options) {
  check_least("max_requests", options.max_requests, 1);
  check_least("background_pages", options.background_pages, 0);
  check_least("max_per_client", options.max_per_client, 0);
}

/// Returns a model's options with the one option of the machine that models use.
EngineOptions on(const Machine& machine, EngineOptions options) {
  options.max_batch = machine.options().max_batch;
  return options;
}

}  // namespace

struct Engine::Impl {
  const std::shared_ptr<Machine> machine;
  ResidentModel model;

  Impl(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options,
       std::shared_ptr<Machine> m)
      : machine(std::move(m)), model(std::move(pipeline), on(*machine, options)) {
    machine->add(model);
  }
  ~Impl() { machine->remove(model); }

  double update_wait();
  Status admit(const SpeechRequest& request);
  void leave(uint64_t client);
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink,
                           bool open_here);
};

// ---------------------------------------------------------------------------- front

std::optional<Executors> find_executors(std::string_view name) {
  if (name == "shared") return Executors::kShared;
  if (name == "split") return Executors::kSplit;
  if (name == "each") return Executors::kEach;
  return std::nullopt;
}

Engine::Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options,
               std::shared_ptr<Machine> machine) {
  check(options);
  if (!machine) machine = std::make_shared<Machine>(options);
  for (const Node& node : pipeline->graph().nodes()) {
    const bool remote = node.ar ? node.ar->remote() : node.chunk->remote();
    if (remote && machine->options().remote_slots < 1) {
      throw LoadError("the stage '" + node.name +
                      "' runs in another process, so remote_slots must be above 0");
    }
  }
  impl_ = std::make_unique<Impl>(std::move(pipeline), options, std::move(machine));
}

Engine::~Engine() = default;

const Pipeline& Engine::pipeline() const { return *impl_->model.pipeline; }
const std::shared_ptr<Machine>& Engine::machine() const { return impl_->machine; }
const EngineMetrics& Engine::metrics() const { return impl_->model.metrics; }

/// Returns the predicted wait of one more request and writes it to the metrics. Needs the lock.
double Engine::Impl::update_wait() {
  const ModelAdmission& admission = model.admission;
  Load load = admission.load;
  load.waiting += admission.unfinished - load.requests;  // those that the scheduler has not got yet
  const double wait_s = predicted_wait_s(load);
  model.metrics.predicted_wait_s.set(std::isfinite(wait_s) ? wait_s : 0);
  return wait_s;
}

/// Counts the request as admitted, or returns why it is refused. Needs the lock.
Status Engine::Impl::admit(const SpeechRequest& request) {
  const double wait_s = update_wait();
  const EngineOptions& options = model.options;
  ModelAdmission& admission = model.admission;
  const auto refuse = [&](Counter& reason, std::string why) {
    reason.add();
    return Error{ErrorCode::kOverloaded,
                 std::move(why),
                 {},
                 std::isfinite(wait_s) ? std::max(wait_s, 0.1) : 0};
  };
  if (admission.unfinished >= options.max_requests) {
    return refuse(model.metrics.rejected_seats,
                  concat("all ", options.max_requests, " places for requests are taken"));
  }
  const auto client = admission.of_client.find(request.terms.client);
  const int mine = client == admission.of_client.end() ? 0 : client->second;
  if (options.max_per_client > 0 && mine >= options.max_per_client) {
    return refuse(model.metrics.rejected_client,
                  concat("this client has ", mine, " unfinished requests, the limit is ",
                         options.max_per_client));
  }
  const double most_s = promised_wait_s(model, request);
  if (wait_s > most_s && std::isfinite(wait_s)) {
    return refuse(model.metrics.rejected_queue,
                  concat("the wait would be ", std::round(10 * wait_s) / 10, " s, the limit is ",
                         most_s, " s"));
  }
  ++admission.of_client[request.terms.client];
  ++admission.unfinished;
  return ok_status();
}

void Engine::Impl::leave(uint64_t client) {
  machine->locked([&] {
    ModelAdmission& admission = model.admission;
    --admission.unfinished;
    if (--admission.of_client[client] == 0) admission.of_client.erase(client);
  });
}

Result<RequestId> Engine::submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
  return impl_->submit(request, std::move(sink), true);
}

Result<RequestId> Engine::submit_soon(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
  return impl_->submit(request, std::move(sink), false);
}

Result<RequestId> Engine::Impl::submit(const SpeechRequest& asked, std::shared_ptr<Sink> sink,
                                       bool open_here) {
  const double now = now_s();
  if (Status fault = check_request(model.pipeline->info(), asked); !fault) return fault.error();
  SpeechRequest request = asked;
  request.say.language = read_language(model.pipeline->info(), asked.say.language).take();
  if (model.options.lexicon) {
    request.say.lexicon = Lexicon::both(asked.say.lexicon, model.options.lexicon);
  }
  Status admitted = ok_status();
  machine->locked([&] { admitted = admit(request); });
  if (!admitted) return admitted.error();
  try {
    const uint64_t client = request.terms.client;
    std::shared_ptr<void> place(this, [this, client](void*) { leave(client); });
    Result<std::unique_ptr<Active>> made =
        open_here ? open_active(model, std::move(request), std::move(sink), now)
                  : make_active(model, std::move(request), std::move(sink), now);
    if (!made.ok()) return made.error();
    std::unique_ptr<Active> active = made.take();
    active->place = std::move(place);
    machine->locked([&] { model.metrics.accepted.add(); });
    return machine->take_in(std::move(active));
  } catch (const std::exception& e) {
    return Error{ErrorCode::kInternal, e.what()};
  }
}

void Engine::cancel(RequestId id) {
  impl_->machine->post([id](Scheduler& scheduler) { scheduler.cancel(id); });
}

void Engine::raise_priority(RequestId id) {
  impl_->machine->post([id](Scheduler& scheduler) { scheduler.raise_priority(id); });
}

void Engine::append_text(RequestId id, std::string text, bool last) {
  impl_->machine->post([id, text = std::move(text), last](Scheduler& scheduler) mutable {
    scheduler.append_text(id, std::move(text), last);
  });
}

void Engine::append_samples(RequestId id, std::vector<float> samples, bool last) {
  impl_->machine->post([id, samples = std::move(samples), last](Scheduler& scheduler) mutable {
    scheduler.append_samples(id, std::move(samples), last);
  });
}

EngineStats Engine::stats() const {
  const EngineMetrics& metrics = impl_->model.metrics;
  EngineStats stats;
  stats.capacity_streams = metrics.streams_capacity.value();
  stats.pages = static_cast<int>(metrics.pages.value());
  stats.pages_free = static_cast<int>(metrics.pages_free.value());
  stats.preemptions = static_cast<int64_t>(metrics.preemptions.value());
  stats.accepted = static_cast<int64_t>(metrics.accepted.value());
  stats.audio_s = metrics.audio_s.value();
  stats.seats_limit = metrics.seats_limit.value();
  stats.slowdown = metrics.slowdown_now.value();
  for (size_t n = 0; n < metrics.stages.size(); ++n) {
    (impl_->model.nodes[n].ar ? stats.ar_steps : stats.chunk_steps) +=
        static_cast<int64_t>(metrics.stages[n].batch.count());
  }
  for (const Counter& reason : metrics.finished) {
    stats.finished += static_cast<int64_t>(reason.value());
  }
  impl_->machine->locked([&] {
    stats.requests = impl_->model.admission.unfinished;
    stats.running = impl_->model.admission.load.running;
    // Updates the predicted wait, which otherwise changes only with submissions.
    impl_->update_wait();
  });
  return stats;
}

}  // namespace syrinx
