#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/scheduler.h"

namespace syrinx {
namespace {

/// How often a request paused by its reader is looked at again.
constexpr auto kPausedPoll = std::chrono::milliseconds(10);

constexpr const char* kShuttingDown = "the server is shutting down";

struct Mail {
  enum Kind { kSubmit, kCancel, kText } kind;
  RequestId id = 0;
  std::unique_ptr<Active> active = nullptr;
  std::string text = {};
  bool last = false;
};

std::vector<std::string> stage_names(const Pipeline& pipeline) {
  std::vector<std::string> names = {"ar"};
  for (const Link& link : pipeline.links()) names.push_back(link.name);
  return names;
}

void check(const EngineOptions& options) {
  const auto at_least = [](const char* name, double value, double least) {
    if (value < least)
      throw LoadError(concat(name, " is ", value, ", at least ", least, " is needed"));
  };
  at_least("threads", options.threads, 0);
  at_least("max_batch", options.max_batch, 1);
  at_least("max_prefill_rows", options.max_prefill_rows, 1);
  at_least("max_requests", options.max_requests, 1);
  at_least("max_per_client", options.max_per_client, 0);
  at_least("max_encode_wait_s", options.max_encode_wait_s, 0);
}

}  // namespace

struct Engine::Impl {
  std::shared_ptr<const Pipeline> pipeline;
  EngineOptions options;
  EngineMetrics metrics;

  // Shared with callers and executors, under `mutex`.
  mutable std::mutex mutex;
  std::condition_variable something_came, request_ended;
  std::vector<Mail> mailbox;
  std::vector<Batch*> returned;
  RequestId next_id = 1;
  int unfinished = 0;
  std::map<uint64_t, int> of_client;  ///< unfinished requests of each
  bool draining = false, stopping = false;
  Load load;
  CostModel costs;

  // The engine thread's own.
  std::vector<Mail> mail;
  std::vector<Batch*> done;
  std::vector<uint64_t> ended;
  Scheduler scheduler;
  std::thread thread;

  std::unique_ptr<VoiceQueue> voices;  // null where the pipeline has no encoder

  Impl(std::shared_ptr<const Pipeline> p, const EngineOptions& o)
      : pipeline(std::move(p)),
        options(o),
        metrics(stage_names(*pipeline)),
        scheduler(pipeline, options, metrics, [this](Batch* batch) { give_back(batch); }) {
    load.places = options.max_requests;
    if (const VoiceEncoder* encoder = pipeline->voice_encoder()) {
      voices = std::make_unique<VoiceQueue>(
          *encoder, metrics,
          VoiceQueueLimits{.max_per_client = options.max_per_client,
                           .max_wait_s = options.max_encode_wait_s});
    }
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    something_came.notify_all();
    thread.join();
  }

  /// Called by executors.
  void give_back(Batch* batch) {
    {
      std::lock_guard lock(mutex);
      returned.push_back(batch);
    }
    something_came.notify_one();
  }

  void run();
  bool take_what_came(bool idle);
  Error* refusal(const SpeechRequest& request, Error& error);
};

// ---------------------------------------------------------------------------- turn

void Engine::Impl::run() {
  bool idle = true;
  while (take_what_came(idle)) {
    for (Batch* batch : done) scheduler.commit(batch);
    for (Mail& letter : mail) {
      switch (letter.kind) {
        case Mail::kSubmit:
          scheduler.take_in(std::move(letter.active));
          break;
        case Mail::kCancel:
          scheduler.cancel(letter.id);
          break;
        case Mail::kText:
          scheduler.append_text(letter.id, letter.text, letter.last);
          break;
      }
    }
    idle = !scheduler.dispatch();
  }
  scheduler.end_all();
}

/// Waits while there is nothing to do. False when the engine is to stop and nothing is in flight.
bool Engine::Impl::take_what_came(bool idle) {
  done.clear(), mail.clear();
  std::unique_lock lock(mutex);
  scheduler.take_ended(ended);
  for (uint64_t client : ended) {
    --unfinished;
    if (auto it = of_client.find(client); it != of_client.end() && --it->second == 0) {
      of_client.erase(it);
    }
  }
  if (!ended.empty()) request_ended.notify_all();
  load = scheduler.load();
  scheduler.costs(costs);
  const auto something = [&] {
    return !mailbox.empty() || !returned.empty() ||
           (stopping && scheduler.batches_in_flight() == 0);
  };
  if (idle && scheduler.paused()) {
    something_came.wait_for(lock, kPausedPoll, something);
  } else if (idle) {
    something_came.wait(lock, something);
  }
  done.swap(returned);
  mail.swap(mailbox);
  if (!stopping) return true;
  for (Mail& letter : mail) {
    if (letter.kind == Mail::kSubmit) scheduler.take_in(std::move(letter.active));
  }
  mail.clear();
  lock.unlock();
  for (Batch* batch : done) scheduler.commit(batch);
  while (scheduler.batches_in_flight() > 0) {
    lock.lock();
    something_came.wait(lock, [&] { return !returned.empty(); });
    done.clear();
    done.swap(returned);
    lock.unlock();
    for (Batch* batch : done) scheduler.commit(batch);
  }
  return false;
}

// ---------------------------------------------------------------------------- front

std::optional<Executors> find_executors(std::string_view name) {
  if (name == "shared") return Executors::kShared;
  if (name == "split") return Executors::kSplit;
  if (name == "each") return Executors::kEach;
  return std::nullopt;
}

Engine::Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options) {
  check(options);
  impl_ = std::make_unique<Impl>(std::move(pipeline), options);
}

Engine::~Engine() = default;

const Pipeline& Engine::pipeline() const { return *impl_->pipeline; }
const EngineMetrics& Engine::metrics() const { return impl_->metrics; }

/// What is wrong with the request's voice for any model like this one; no message: nothing.
static Error voice_fault(const PipelineInfo& info, const SpeechRequest& request) {
  const auto foreign = [&](const Voice* voice) {
    return voice && voice->family != info.family
               ? Error{ErrorCode::kInvalid,
                       concat("the voice was made for the family '", voice->family,
                              "', this model is of the family '", info.family, "'"),
                       "voice"}
               : Error{};
  };
  if (!request.mix.empty() && !info.mixes) {
    return {ErrorCode::kUnsupported, "this model does not mix voices", "voice"};
  }
  for (const VoiceShare& share : request.mix) {
    if (!(share.weight > 0) || !std::isfinite(share.weight)) {
      return {ErrorCode::kInvalid, "the weight of a voice in a mix must be above 0", "voice"};
    }
    if (Error fault = foreign(share.data.get()); !fault.message.empty()) return fault;
  }
  if (!(request.speed >= info.slowest && request.speed <= info.fastest)) {
    return {ErrorCode::kUnsupported,
            concat("this model speaks at ", info.slowest, " to ", info.fastest,
                   " times its own speed, not ", request.speed),
            "speed"};
  }
  return foreign(request.voice_data.get());
}

/// Takes a place for the request, or says why there is none. Under the lock.
Error* Engine::Impl::refusal(const SpeechRequest& request, Error& error) {
  const double wait_s = predicted_wait_s(load);
  const double back_s = std::isfinite(wait_s) ? std::max(wait_s, 0.1) : 0;
  metrics.predicted_wait_s.set(std::isfinite(wait_s) ? wait_s : 0);
  error.code = ErrorCode::kOverloaded;
  if (draining) {
    error.message = kShuttingDown;
    return &error;
  }
  error.retry_after_s = back_s;
  if (unfinished >= options.max_requests) {
    error.message = concat("all ", options.max_requests, " places are taken");
    metrics.rejected_places.add();
    return &error;
  }
  const auto mine = of_client.find(request.client);
  if (options.max_per_client > 0 && mine != of_client.end() &&
      mine->second >= options.max_per_client) {
    error.message = concat("this client has ", mine->second, " unfinished requests, the limit is ",
                           options.max_per_client);
    metrics.rejected_client.add();
    return &error;
  }
  if (wait_s > options.max_wait_s && std::isfinite(wait_s)) {
    error.message = concat("the wait for a place would be ", std::round(10 * wait_s) / 10,
                           " s, the limit is ", options.max_wait_s, " s");
    metrics.rejected_queue.add();
    return &error;
  }
  ++unfinished;
  ++of_client[request.client];
  ++load.waiting;  // until the next turn counts anew
  return nullptr;
}

Result<RequestId> Engine::submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
  const double now = now_s();
  const Pipeline& pipeline = *impl_->pipeline;
  const size_t limit = pipeline.info().max_text_bytes;
  if (request.text.size() > limit) {
    return Error{ErrorCode::kInvalid,
                 concat("the text has ", request.text.size(), " bytes, the limit is ", limit),
                 "input"};
  }
  if (!request.context.empty() && !pipeline.info().context) {
    return Error{ErrorCode::kUnsupported, "this model does not hear a conversation's earlier turns",
                 "context"};
  }
  if (Error fault = voice_fault(pipeline.info(), request); !fault.message.empty()) return fault;
  {
    std::lock_guard lock(impl_->mutex);
    Error error;
    if (impl_->refusal(request, error)) return error;
  }
  const auto leave = [&](Error error) {
    std::lock_guard lock(impl_->mutex);
    --impl_->unfinished;
    --impl_->load.waiting;
    if (--impl_->of_client[request.client] == 0) impl_->of_client.erase(request.client);
    impl_->request_ended.notify_all();
    return error;
  };
  try {
    auto opened = pipeline.open(request);
    if (!opened.ok()) return leave(opened.error());
    const std::span<const Link> links = pipeline.links();
    auto active = std::make_unique<Active>(links[0].policy, links[0].stage->in_width());
    active->state = opened.take();
    const Sequence& state = *active->state;
    const std::string problem = impl_->scheduler.misfit(state);
    if (!problem.empty()) return leave({ErrorCode::kInvalid, problem, "input"});
    active->guided = state.guidance().has_value();
    if (active->guided && impl_->options.max_batch < 2) {
      return leave({ErrorCode::kUnsupported, "guidance needs a batch of at least 2"});
    }
    active->scale = state.guidance().value_or(1);
    for (int t = 0; t < (active->guided ? 2 : 1); ++t) {
      const int rows = t == 0 ? state.prompt_rows() : state.companion_rows();
      active->tracks[t].cache.pages.reserve(KvPool::pages_for(rows + state.max_steps()));
    }
    active->seed = request.seed;
    active->client = request.client;
    active->first_frames = request.initial_chunk_frames;
    active->submitted_s = now;
    for (size_t i = 0; i < links.size(); ++i) {
      if (i > 0) active->values.emplace_back(links[i].policy, links[i].stage->in_width());
      active->streams.push_back(links[i].stage->open(*active->state));
    }
    active->sink = std::move(sink);
    std::lock_guard lock(impl_->mutex);
    const RequestId id = active->id = impl_->next_id++;
    impl_->metrics.accepted.add();
    impl_->mailbox.push_back({Mail::kSubmit, id, std::move(active)});
    impl_->something_came.notify_all();
    return id;
  } catch (const std::exception& e) {
    return leave({ErrorCode::kInternal, e.what()});
  }
}

void Engine::cancel(RequestId id) {
  std::lock_guard lock(impl_->mutex);
  impl_->mailbox.push_back({Mail::kCancel, id});
  impl_->something_came.notify_all();
}

void Engine::append_text(RequestId id, std::string text, bool last) {
  std::lock_guard lock(impl_->mutex);
  impl_->mailbox.push_back({Mail::kText, id, nullptr, std::move(text), last});
  impl_->something_came.notify_all();
}

Result<uint64_t> Engine::encode_voice(Recording recording, uint64_t client, VoiceDone done) {
  if (!impl_->voices) {
    return Error{ErrorCode::kUnsupported,
                 concat("this model cannot clone a voice: ", pipeline().info().no_cloning),
                 "ref_audio"};
  }
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->draining) return Error{ErrorCode::kOverloaded, kShuttingDown};
  }
  return impl_->voices->encode(std::move(recording), client, std::move(done));
}

void Engine::cancel_voice(uint64_t id) {
  if (impl_->voices) impl_->voices->cancel(id);
}

bool Engine::drain(double timeout_s) {
  const double end_s = now_s() + timeout_s;
  {
    std::unique_lock lock(impl_->mutex);
    impl_->draining = true;
    if (!impl_->request_ended.wait_for(lock, std::chrono::duration<double>(timeout_s),
                                       [&] { return impl_->unfinished == 0; })) {
      return false;
    }
  }
  return !impl_->voices || impl_->voices->drain(end_s - now_s());
}

CostModel Engine::costs() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->costs;
}

EngineStats Engine::stats() const {
  const EngineMetrics& metrics = impl_->metrics;
  const auto batches = [](const StageMetrics& stage) {
    int64_t count = 0;
    for (size_t b = 0; b <= stage.batch.bounds().size(); ++b) {
      count += static_cast<int64_t>(stage.batch.count(b));
    }
    return count;
  };
  EngineStats stats;
  stats.capacity_streams = metrics.streams_capacity.value();
  stats.pages = static_cast<int>(metrics.pages.value());
  stats.pages_free = static_cast<int>(metrics.pages_free.value());
  stats.preemptions = static_cast<int64_t>(metrics.preemptions.value());
  stats.accepted = static_cast<int64_t>(metrics.accepted.value());
  stats.audio_s = metrics.audio_s.value();
  stats.ar_steps = batches(metrics.stages[0]);
  for (size_t i = 1; i < metrics.stages.size(); ++i)
    stats.chunk_steps += batches(metrics.stages[i]);
  for (const Counter& reason : metrics.finished) {
    stats.finished += static_cast<int64_t>(reason.value());
  }
  std::lock_guard lock(impl_->mutex);
  stats.requests = impl_->unfinished;
  stats.running = impl_->load.running;
  return stats;
}

}  // namespace syrinx
