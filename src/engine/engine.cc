#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "engine/active.h"
#include "engine/executor.h"
#include "engine/page_allocator.h"
#include "engine/policy.h"

namespace syrinx {
namespace {

constexpr size_t kMostKvBytes = size_t{1} << 30;
constexpr int kTypicalPositions = 1024;
/// How often a request paused by its reader is looked at again.
constexpr auto kPausedPoll = std::chrono::milliseconds(10);

/// Pages that the options buy for this pipeline.
int64_t pages_for(const ArTraits& traits, const EngineOptions& options) {
  size_t page_bytes = 0;
  for (const KvSpec& spec : traits.kv) page_bytes += KvPool::page_bytes(spec);
  page_bytes = std::max<size_t>(page_bytes, 1);
  if (options.kv_bytes) return std::max<int64_t>(1, options.kv_bytes / page_bytes);
  const int64_t wanted =
      options.max_batch * KvPool::pages_for(std::min(traits.max_positions, kTypicalPositions));
  const int64_t longest = KvPool::pages_for(traits.max_positions);
  return std::clamp<int64_t>(kMostKvBytes / page_bytes, 1, std::max(wanted, longest));
}

struct Mail {
  enum Kind { kSubmit, kCancel, kText } kind;
  RequestId id = 0;
  std::unique_ptr<Active> active = nullptr;
  std::string text = {};
  bool last = false;
};

}  // namespace

struct Engine::Impl {
  std::shared_ptr<const Pipeline> pipeline;
  EngineOptions options;
  Executor executor;
  PageAllocator pages;

  // Shared with callers, under `mutex`.
  mutable std::mutex mutex;
  std::condition_variable mail_came, request_ended;
  std::vector<Mail> mailbox;
  RequestId next_id = 1;
  int unfinished = 0;
  bool draining = false, stopping = false;
  EngineStats stats;

  // The engine thread's own.
  std::vector<std::unique_ptr<Active>> active;  // in admission order
  std::vector<Mail> mail;
  Snapshot snapshot;
  Plan plan;
  bool idle = true;     // nothing to do until mail comes
  bool paused = false;  // somebody waits for its reader
  std::vector<StepSequence> step;
  std::vector<ChunkJob> jobs;
  std::vector<ChunkCut> cuts;
  std::vector<Active*> batch;
  std::vector<int> slots;
  EngineStats counted;
  std::thread thread;

  Impl(std::shared_ptr<const Pipeline> p, EngineOptions o)
      : pipeline(std::move(p)),
        options(o),
        executor(*pipeline, o.threads, pages_for(pipeline->ar().traits(), o), o.max_batch),
        pages(static_cast<int>(pages_for(pipeline->ar().traits(), o))) {
    snapshot.max_batch = options.max_batch;
    snapshot.max_prefill_rows = options.max_prefill_rows;
    snapshot.page_rows = KvPool::kPageRows;
    counted.pages = counted.pages_free = pages.total();
    stats = counted;
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    mail_came.notify_all();
    thread.join();
  }

  /// Positions that a sequence may have: what the model knows and the cache holds.
  int64_t most_positions() const {
    return std::min<int64_t>(pipeline->ar().traits().max_positions,
                             int64_t{pages.total()} * KvPool::kPageRows);
  }
  static int64_t positions_of(const RequestState& state) {
    return int64_t{state.prompt_rows()} + state.max_steps();
  }
  bool fits(const RequestState& state) const { return positions_of(state) <= most_positions(); }
  std::string too_long(const RequestState& state) const {
    return concat("the text may need ", positions_of(state), " positions, there is room for ",
                  most_positions());
  }

  void run();
  bool take_mail();
  void apply(Mail& letter);
  void look(double now);
  void look_at(Active& request, int slot, double now);
  bool make_room();
  void drop_cache(Active& request);

  void run_step();
  void commit_step(Active& request, const StepSequence& ran, int& emitted);
  void end_steps(Active& request, FinishReason reason);
  void run_chunks();
  ChunkCut next_cut(Active& request, int link) const;
  void lay_out_chunk(Active& request, int link, ChunkJob& job);
  void commit_chunk(Active& request, const ChunkJob& job, const ChunkCut& cut);
  void deliver(Active& request, std::span<const float> samples, double now);
  void fail(Active& request, ErrorCode code, const std::string& message);
  void finish(Active& request, FinishReason reason);
  void sweep();
  template <typename F>
  void guarded(F&& work);
};

// ---------------------------------------------------------------------------- turn

void Engine::Impl::run() {
  while (take_mail()) {
    sweep();
    const double now = now_s();
    look(now);
    plan_streaming(snapshot, plan);
    idle = plan.kind == Plan::kIdle && (snapshot.sequences.empty() || !make_room());
    if (plan.kind == Plan::kIdle) continue;
    batch.clear();
    guarded([&] { plan.kind == Plan::kAr ? run_step() : run_chunks(); });
    sweep();
  }
  for (auto& request : active) finish(*request, FinishReason::kCancelled);
  sweep();
}

/// Waits while there is nothing to do. False when the engine is to stop.
bool Engine::Impl::take_mail() {
  {
    std::unique_lock lock(mutex);
    const auto something = [&] { return stopping || !mailbox.empty(); };
    counted.accepted = stats.accepted;
    stats = counted;
    if (idle) {
      if (paused) {
        mail_came.wait_for(lock, kPausedPoll, something);
      } else {
        mail_came.wait(lock, something);
      }
    }
    if (stopping) {
      for (Mail& letter : mailbox) {
        if (letter.kind == Mail::kSubmit) active.push_back(std::move(letter.active));
      }
      mailbox.clear();
      return false;
    }
    mail.swap(mailbox);
  }
  for (Mail& letter : mail) apply(letter);
  mail.clear();
  return true;
}

void Engine::Impl::apply(Mail& letter) {
  if (letter.kind == Mail::kSubmit) {
    active.push_back(std::move(letter.active));
    return;
  }
  for (auto& request : active) {
    if (request->id != letter.id) continue;
    if (letter.kind == Mail::kCancel) return finish(*request, FinishReason::kCancelled);
    batch.assign(1, request.get());
    guarded([&] {
      const Status status = request->state->append_text(letter.text, letter.last);
      if (!status.ok()) fail(*request, status.error().code, status.error().message);
    });
  }
}

/// Runs work on `batch`; whatever it throws fails the requests of that batch and nobody else (I8).
template <typename F>
void Engine::Impl::guarded(F&& work) {
  try {
    work();
  } catch (const std::exception& e) {
    for (Active* request : batch) fail(*request, ErrorCode::kInternal, e.what());
  }
}

// ---------------------------------------------------------------------------- plan

void Engine::Impl::look(double now) {
  snapshot.sequences.clear();
  snapshot.chunks.clear();
  snapshot.pages_free = pages.available();
  paused = false;
  for (size_t slot = 0; slot < active.size(); ++slot) {
    look_at(*active[slot], static_cast<int>(slot), now);
  }
}

void Engine::Impl::look_at(Active& request, int slot, double now) {
  if (request.started() && request.sink->unread_s() > options.max_unread_s) {
    paused = true;
    return;
  }
  const bool started = request.started();
  const double slack = request.slack_s(now);
  const int links = static_cast<int>(pipeline->links().size());
  for (int link = 0; link < links; ++link) {
    const ChunkCut cut = next_cut(request, link);
    if (cut.fresh == 0) continue;
    snapshot.chunks.push_back({slot, link, request.id, cut.full || cut.last, started, slack});
  }
  if (request.ar_open && request.state->ready()) {
    snapshot.sequences.push_back({slot, request.id, request.rows_due(),
                                  static_cast<int>(request.pages.size()), request.kv_len, started,
                                  slack});
  }
}

/// Takes the pages of the youngest request for the sake of the oldest that wants to go on; the
/// loser computes its cache again later (I2).
bool Engine::Impl::make_room() {
  const auto oldest = std::min_element(
      snapshot.sequences.begin(), snapshot.sequences.end(),
      [](const SequenceView& a, const SequenceView& b) { return a.order < b.order; });
  for (size_t slot = active.size(); slot-- > 0;) {
    if (active[slot]->pages.empty() || static_cast<int>(slot) == oldest->slot) continue;
    drop_cache(*active[slot]);
    ++counted.preemptions;
    return true;
  }
  return false;
}

void Engine::Impl::drop_cache(Active& request) {
  pages.give_back(request.pages);
  request.kv_len = 0;
  counted.pages_free = pages.available();
}

// ---------------------------------------------------------------------------- AR steps

void Engine::Impl::run_step() {
  step.clear();
  for (const PlannedSequence& planned : plan.sequences) {
    Active& request = *active[planned.slot];
    const int due = request.rows_due();
    const bool fits =
        pages.grow(request.pages, static_cast<int>(KvPool::pages_for(request.kv_len + due)));
    SYRINX_CHECK(fits, "a plan took more pages than there are");
    step.push_back({request.state.get(), request.pages, request.kv_len, planned.rows,
                    planned.rows == due, request.seed, request.total_steps});
    batch.push_back(&request);
  }
  counted.pages_free = pages.available();
  executor.run_step(step);
  ++counted.ar_steps;
  int emitted = 0;
  for (size_t i = 0; i < step.size(); ++i) {
    Active& request = *batch[i];
    try {
      commit_step(request, step[i], emitted);
    } catch (const std::exception& e) {
      fail(request, ErrorCode::kInternal, e.what());
    }
  }
}

void Engine::Impl::commit_step(Active& request, const StepSequence& ran, int& emitted) {
  request.kv_len += ran.rows;
  if (!ran.emits) return;
  const int e = emitted++;
  if (executor.status(e) != SampleStatus::kOk) {
    return fail(request, ErrorCode::kInternal, sample_status_text(executor.status(e)));
  }
  const int width = pipeline->links().front().stage->in_width();
  const size_t before = request.codes.input().size();
  StepOutput out(request.codes.input(), request.outcome.words);
  const Verdict verdict = request.state->advance(executor.codes(e), out);
  ++request.steps, ++request.total_steps;
  const std::span<const int32_t> fresh = std::span(request.codes.input()).subspan(before);
  for (size_t i = 0; i < fresh.size(); i += width) request.guard.frame(fresh.subspan(i, width));

  const double frame_rate = pipeline->info().frame_rate;
  if (verdict.next == Verdict::kFinished) return end_steps(request, verdict.reason);
  if (options.repetition_s > 0 && request.guard.repeated() > options.repetition_s * frame_rate) {
    return end_steps(request, FinishReason::kRepetition);
  }
  if (verdict.next == Verdict::kNextSegment) {
    drop_cache(request);
    request.steps = 0;
    if (!fits(*request.state)) fail(request, ErrorCode::kInvalid, too_long(*request.state));
  } else if (request.steps >= request.state->max_steps()) {
    end_steps(request, FinishReason::kLength);
  }
}

void Engine::Impl::end_steps(Active& request, FinishReason reason) {
  request.ar_open = false;
  request.reason = reason;
  request.codes.close();
  drop_cache(request);
  if (request.codes.exhausted()) finish(request, reason);
}

// ---------------------------------------------------------------------------- chunks

ChunkCut Engine::Impl::next_cut(Active& request, int link) const {
  return link == 0 ? request.codes.next() : request.values[link - 1].next();
}

void Engine::Impl::lay_out_chunk(Active& request, int link, ChunkJob& job) {
  const ChunkCut cut = next_cut(request, link);
  job = {request.streams[link].get(), {}, {}, cut.left, cut.fresh, cut.ahead, cut.last, {}};
  if (link == 0) {
    job.codes = request.codes.window(cut);
  } else {
    job.values = request.values[link - 1].window(cut);
  }
  job.out = executor.take(int64_t{cut.fresh} * pipeline->links()[link].stage->out_width());
  cuts.push_back(cut);
}

void Engine::Impl::run_chunks() {
  executor.begin_chunks();
  jobs.clear(), cuts.clear();
  for (int slot : plan.chunk_slots) {
    batch.push_back(active[slot].get());
    lay_out_chunk(*batch.back(), plan.link, jobs.emplace_back());
  }
  executor.run_chunks(*pipeline->links()[plan.link].stage, jobs);
  ++counted.chunk_steps;
  for (size_t i = 0; i < jobs.size(); ++i) commit_chunk(*batch[i], jobs[i], cuts[i]);
}

void Engine::Impl::commit_chunk(Active& request, const ChunkJob& job, const ChunkCut& cut) {
  const size_t link = plan.link;
  bool exhausted;
  if (link == 0) {
    request.codes.take(cut);
    exhausted = request.codes.exhausted();
  } else {
    request.values[link - 1].take(cut);
    exhausted = request.values[link - 1].exhausted();
  }
  if (link + 1 < pipeline->links().size()) {
    Lane<float>& next = request.values[link];
    next.input().insert(next.input().end(), job.out.begin(), job.out.end());
    if (exhausted) next.close();
    if (next.exhausted()) finish(request, request.reason);
    return;
  }
  deliver(request, job.out, now_s());
  if (exhausted) finish(request, request.reason);
}

void Engine::Impl::deliver(Active& request, std::span<const float> samples, double now) {
  Outcome& outcome = request.outcome;
  const double seconds = static_cast<double>(samples.size()) / pipeline->info().sample_rate;
  if (!request.started()) {
    outcome.first_audio_s = now - request.submitted_s;
    request.playing_since_s = now;
  } else if (const double late = -request.slack_s(now); late > 0) {
    // The listener ran dry: the player waits and goes on from here.
    ++outcome.underruns;
    outcome.max_underrun_s = std::max(outcome.max_underrun_s, late);
    request.playing_since_s += late;
  }
  outcome.audio_s += seconds;
  counted.audio_s += seconds;
  request.sink->audio(samples);
}

// ---------------------------------------------------------------------------- the end

void Engine::Impl::fail(Active& request, ErrorCode code, const std::string& message) {
  if (!request.sink) return;
  request.outcome.error = {code, message};
  finish(request, FinishReason::kError);
}

/// Tells the sink and returns the pages; the record goes at the next sweep().
void Engine::Impl::finish(Active& request, FinishReason reason) {
  if (!request.sink) return;
  drop_cache(request);
  request.ar_open = false;
  request.outcome.reason = reason;
  request.outcome.frames = request.codes.given();
  request.outcome.total_s = now_s() - request.submitted_s;
  const std::shared_ptr<Sink> sink = std::move(request.sink);
  request.sink = nullptr;
  sink->finished(request.outcome);
}

void Engine::Impl::sweep() {
  const auto ended = [](const auto& request) { return !request->sink; };
  const auto gone = std::erase_if(active, ended);
  if (gone == 0) return;
  counted.finished += static_cast<int64_t>(gone);
  std::lock_guard lock(mutex);
  unfinished -= static_cast<int>(gone);
  request_ended.notify_all();
}

// ---------------------------------------------------------------------------- front

Engine::Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(pipeline), options)) {}

Engine::~Engine() = default;

const Pipeline& Engine::pipeline() const { return *impl_->pipeline; }

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
  {
    std::lock_guard lock(impl_->mutex);
    if (impl_->draining) return Error{ErrorCode::kOverloaded, "the server is shutting down"};
    if (impl_->unfinished >= impl_->options.max_requests) {
      return Error{ErrorCode::kOverloaded,
                   concat("all ", impl_->options.max_requests, " places are taken")};
    }
    ++impl_->unfinished;  // the place is ours from here on
  }
  const auto leave = [&](Error error) {
    std::lock_guard lock(impl_->mutex);
    --impl_->unfinished;
    impl_->request_ended.notify_all();
    return error;
  };
  try {
    auto opened = pipeline.open(request);
    if (!opened.ok()) return leave(opened.error());
    const std::span<const Link> links = pipeline.links();
    auto active = std::make_unique<Active>(links[0].policy, links[0].stage->in_width());
    active->state = opened.take();
    if (!impl_->fits(*active->state)) {
      return leave({ErrorCode::kInvalid, impl_->too_long(*active->state), "input"});
    }
    active->pages.reserve(KvPool::pages_for(Impl::positions_of(*active->state)));
    active->seed = request.seed;
    active->submitted_s = now;
    for (size_t i = 0; i < links.size(); ++i) {
      if (i > 0) active->values.emplace_back(links[i].policy, links[i].stage->in_width());
      active->streams.push_back(links[i].stage->open(*active->state));
    }
    active->sink = std::move(sink);
    std::lock_guard lock(impl_->mutex);
    const RequestId id = active->id = impl_->next_id++;
    ++impl_->stats.accepted;
    impl_->mailbox.push_back({Mail::kSubmit, id, std::move(active)});
    impl_->mail_came.notify_all();
    return id;
  } catch (const std::exception& e) {
    return leave({ErrorCode::kInternal, e.what()});
  }
}

void Engine::cancel(RequestId id) {
  std::lock_guard lock(impl_->mutex);
  impl_->mailbox.push_back({Mail::kCancel, id});
  impl_->mail_came.notify_all();
}

void Engine::append_text(RequestId id, std::string text, bool last) {
  std::lock_guard lock(impl_->mutex);
  impl_->mailbox.push_back({Mail::kText, id, nullptr, std::move(text), last});
  impl_->mail_came.notify_all();
}

bool Engine::drain(double timeout_s) {
  std::unique_lock lock(impl_->mutex);
  impl_->draining = true;
  return impl_->request_ended.wait_for(lock, std::chrono::duration<double>(timeout_s),
                                       [&] { return impl_->unfinished == 0; });
}

EngineStats Engine::stats() const {
  std::lock_guard lock(impl_->mutex);
  EngineStats stats = impl_->stats;
  stats.requests = impl_->unfinished;
  return stats;
}

}  // namespace syrinx
