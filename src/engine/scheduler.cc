#include "engine/scheduler.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"

namespace syrinx {
namespace {

constexpr size_t kMostKvBytes = size_t{1} << 30, kMostGpuKvBytes = size_t{16} << 30;
constexpr int kTypicalPositions = 1024;
/// A shorter common beginning is not worth waiting for.
constexpr int kLeastCommonRows = 8;
constexpr double kLeastPlaces = 8;
/// A share of late chunks past which smaller chunks would only add to the load.
constexpr double kOverload = 0.005;
/// Of the capacity that was learned, what is given away.
constexpr double kHeadroom = 0.95;
constexpr double kLeastAudio_s = 20;  // made before the capacity counts as learned

}  // namespace

int Scheduler::pages_for(const ArStage& ar, const EngineOptions& options) {
  const ArTraits& traits = ar.traits();
  const size_t most = ar.device() == Device::kCpu ? kMostKvBytes : kMostGpuKvBytes;
  size_t page_bytes = 0;
  for (const KvSpec& spec : traits.kv) page_bytes += KvPool::page_bytes(spec);
  page_bytes = std::max<size_t>(page_bytes, 1);
  const int64_t longest = KvPool::pages_for(traits.max_positions);
  const int64_t wanted =
      options.max_batch * KvPool::pages_for(std::min(traits.max_positions, kTypicalPositions));
  const int64_t bought = options.kv_bytes
                             ? static_cast<int64_t>(options.kv_bytes / page_bytes)
                             : std::min<int64_t>(most / page_bytes, std::max(wanted, longest));
  return static_cast<int>(std::max<int64_t>(1, bought));
}

Scheduler::Scheduler(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options,
                     EngineMetrics& metrics, std::function<void(Batch*)> returned)
    : pipeline_(std::move(pipeline)),
      options_(options),
      metrics_(metrics),
      returned_(std::move(returned)),
      policy_(find_policy(options.policy)),
      realtime_(options.policy == "streaming"),
      cache_(pages_for(pipeline_->ar(), options), KvPool::kPageRows),
      chunk_costs_(pipeline_->links().size()),
      first_chunk_(pipeline_->links()[0].policy.initial, pipeline_->links()[0].policy.steady) {
  if (!policy_) throw LoadError("there is no policy '" + options.policy + "'");
  const ArStage& ar = pipeline_->ar();
  for (const KvSpec& spec : ar.traits().kv) kv_.emplace_back(spec, cache_.total(), ar.device());
  const std::span<const Link> links = pipeline_->links();
  samples_per_frame_.resize(links.size());
  double samples = 1, width = 1;
  for (size_t i = links.size(); i-- > 0;) {
    samples *= links[i].stage->out_width() / width;
    samples_per_frame_[i] = samples;
    width = links[i].stage->in_width();
  }
  for (const Link& link : links) chunk_frames_.push_back(std::max(1, link.policy.steady));
  totals_.link_frames.resize(links.size());
  per_second_.link_frames.resize(links.size());
  snapshot_.max_batch = options.max_batch;
  snapshot_.max_prefill_rows = options.max_prefill_rows;
  snapshot_.costs.links.resize(links.size());

  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int threads = options.threads > 0 ? options.threads : cores;
  if (!options.trace_file.empty()) trace_ = std::make_unique<TraceLog>(options.trace_file, now_s());
  switch (options.executors.value_or(threads > 1 ? Executors::kSplit : Executors::kShared)) {
    case Executors::kShared:
      add_place(threads, true, true, true);
      break;
    case Executors::kSplit:
      // The first to be filled comes first: chunks go beside the AR stage while that is possible.
      add_place(std::max(1, threads / 2), false, true, false);
      add_place(std::max(1, threads - threads / 2), true, true, false);
      sharing_.split = true;
      break;
    case Executors::kEach:
      for (int i = 0; i < threads; ++i) add_place(1, true, true, false);
      sharing_.executors = threads;
      break;
  }
  metrics_.pages.set(cache_.total());
  metrics_.pages_free.set(cache_.total());
}

Scheduler::~Scheduler() = default;

void Scheduler::add_place(int threads, bool steps, bool chunks, bool inline_run) {
  Place& place = places_.emplace_back();
  place.index = static_cast<int>(places_.size()) - 1;
  place.steps = steps, place.chunks = chunks;
  for (int i = 0; i < (inline_run ? 1 : 2); ++i) {
    Batch& batch = place.batches.emplace_back();
    batch.executor = place.index;
    const int64_t longest = KvPool::pages_for(pipeline_->ar().traits().max_positions);
    batch.warm(options_.max_batch, static_cast<int>(std::min<int64_t>(longest, cache_.total())),
               pipeline_->links());
    place.free.push_back(&batch);
  }
  auto executor = std::make_unique<Executor>(*pipeline_, kv_, threads);
  if (inline_run) {
    inline_executor_ = std::move(executor);
  } else {
    place.thread = std::make_unique<ExecutorThread>(std::move(executor), returned_);
  }
  if (trace_) trace_->name_row(place.index + 1, inline_run ? "executor (shared)" : "executor");
}

// ---------------------------------------------------------------------------- mail

void Scheduler::take_in(std::unique_ptr<Active> request) {
  if (trace_) trace_->request_began(request->id, request->submitted_s);
  waiting_.push_back(std::move(request));
}

void Scheduler::cancel(RequestId id) {
  for (auto& request : active_) {
    if (request->id == id) return finish(*request, FinishReason::kCancelled);
  }
  for (auto& request : waiting_) {
    if (request->id == id) return finish(*request, FinishReason::kCancelled);
  }
}

void Scheduler::append_text(RequestId id, std::string_view text, bool last) {
  const auto append = [&](Active& request) {
    if (request.stepping) {
      request.late.push_back({std::string(text), last});
    } else {
      give_text(request, text, last);
    }
  };
  for (auto& request : active_) {
    if (request->id == id && request->sink) return append(*request);
  }
  for (auto& request : waiting_) {
    if (request->id == id && request->sink) return append(*request);
  }
}

void Scheduler::give_text(Active& request, std::string_view text, bool last) {
  guarded(request, [&] {
    const Status status = request.state->append_text(text, last);
    if (!status.ok()) fail(request, status.error().code, status.error().message);
  });
}

/// Runs work on one request; whatever it throws fails that request and nobody else (I8).
void Scheduler::guarded(Active& request, FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& e) {
    fail(request, ErrorCode::kInternal, e.what());
  }
}

// ---------------------------------------------------------------------------- places

void Scheduler::costs(CostModel& model) const {
  model.ar = step_cost_.cost();
  model.links.clear();
  for (const CostLearner& learner : chunk_costs_) model.links.push_back(learner.cost());
}

/// Requests that may run at once: as many as can be fed at the speed of playback, but a few always.
double Scheduler::places() const {
  const double capacity = metrics_.streams_capacity.value();
  if (!realtime_ || capacity <= 0 || metrics_.audio_s.value() < kLeastAudio_s) {
    return options_.max_requests;
  }
  return std::max(kLeastPlaces, std::min(kHeadroom * capacity, place_limit_.places()));
}

/// Under load requests end as fast as their audio can be made.
Load Scheduler::load() const {
  const double capacity = metrics_.streams_capacity.value();
  return {static_cast<int>(active_.size()), static_cast<int>(waiting_.size()), places(),
          mean_audio_s_ > 0 ? std::min(capacity, place_limit_.places()) / mean_audio_s_ : 0};
}

/// Gives free places to those who wait: first of the client that has the fewest, then in order.
void Scheduler::promote() {
  std::erase_if(waiting_, [&](const auto& request) {
    if (!request->sink) ended_.push_back(request->client);
    return !request->sink;
  });
  if (waiting_.empty()) return;
  const double places_now = places();
  while (!waiting_.empty() && static_cast<double>(active_.size()) < places_now) {
    size_t best = 0;
    if (waiting_.size() > 1 && places_now < options_.max_requests) {
      std::map<uint64_t, int> held;
      for (const auto& request : active_) ++held[request->client];
      for (size_t i = 1; i < waiting_.size(); ++i) {
        if (held[waiting_[i]->client] < held[waiting_[best]->client]) best = i;
      }
    }
    std::unique_ptr<Active> request = std::move(waiting_[best]);
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(best));
    active_.push_back(std::move(request));
    Active& fresh = *active_.back();
    guarded(fresh, [&] { begin_segment(fresh); });
  }
}

/// Forgets those that have ended and are in no batch, and lets others take their places.
void Scheduler::sweep() {
  for (auto& request : active_) {
    if (!request->sink && !request->stepping) drop_cache(*request);
  }
  std::erase_if(active_, [&](const auto& request) {
    const bool gone = !request->sink && !request->in_flight();
    if (gone) ended_.push_back(request->client);
    return gone;
  });
}

// ---------------------------------------------------------------------------- plan

bool Scheduler::dispatch() {
  sweep();
  promote();
  bool any = false;
  for (Place& place : places_) {
    while (!place.free.empty() && fill(place)) {
      any = true;
      if (!place.thread) return true;  // it has run; the mail comes first
    }
  }
  if (!any && in_flight_ == 0 && !snapshot_.sequences.empty()) any = make_room();
  metrics_.running.set(static_cast<double>(active_.size()));
  metrics_.waiting.set(static_cast<double>(waiting_.size()));
  return any;
}

/// Plans for one executor and gives it the batch; false when there is nothing for it.
bool Scheduler::fill(Place& place) {
  const double began_s = now_s();
  look(place, began_s);
  if (snapshot_.sequences.empty() && snapshot_.chunks.empty()) return false;
  policy_(snapshot_, plan_);
  if (plan_.kind == Plan::kIdle) {
    metrics_.overhead_s.add(now_s() - began_s);
    return false;
  }
  Batch& batch = *place.free.back();
  plan_.kind == Plan::kAr ? lay_out_step(batch, began_s) : lay_out_chunks(batch, began_s);
  batch.planned_s = began_s;
  place.free.pop_back();
  ++in_flight_;
  metrics_.overhead_s.add(now_s() - began_s);
  if (place.thread) {
    place.thread->run(&batch);
  } else {
    inline_executor_->run(batch);
    commit(&batch);
  }
  return true;
}

void Scheduler::look(const Place& place, double now) {
  snapshot_.sequences.clear();
  snapshot_.chunks.clear();
  snapshot_.may_step = place.steps;
  snapshot_.may_chunk = place.chunks;
  snapshot_.ahead = place.free.size() < place.batches.size();
  snapshot_.steps_in_flight = steps_in_flight_;
  costs(snapshot_.costs);
  paused_ = false;
  for (size_t slot = 0; slot < active_.size(); ++slot) {
    if (active_[slot]->sink) look_at(*active_[slot], static_cast<int>(slot), now);
  }
  snapshot_.pages_free = cache_.available();
  metrics_.pages_free.set(snapshot_.pages_free);
  metrics_.prefix_pages.set(cache_.prefix_pages());
}

void Scheduler::look_at(Active& request, int slot, double now) {
  const bool started = request.started();
  if (started && request.sink->unread_s() > options_.max_unread_s) {
    paused_ = true;
    return;
  }
  const double slack = started ? request.slack_s(now) : request.submitted_s - now;
  const size_t links = request.streams.size();
  for (size_t link = 0; link < links; ++link) {
    if (request.chunk_in_flight(link)) continue;
    const ChunkCut cut = next_cut(request, link, slack);
    if (cut.fresh == 0) continue;
    snapshot_.chunks.push_back({slot, static_cast<int>(link), request.id, cut.fresh,
                                cut.full || cut.last, started, slack});
  }
  if (!request.ar_open || request.stepping) return;
  if (!request.state->ready()) {
    request.starved = true;
    return;
  }
  if (options_.share_prefixes) look_for_prefix(request);
  snapshot_.sequences.push_back(view(request, slot, started ? slack + pipe_s(request) : slack));
}

/// Rows that may run now. A companion whose prompt begins like its sequence's waits until that
/// beginning is in the cache, then shares it.
Scheduler::Due Scheduler::due(const Active& request) const {
  const int rows = request.tracks[0].cache.rows;
  if (request.guided && request.tracks[1].cache.rows == 0 && rows < request.common_rows) {
    return {request.common_rows - rows, 0};
  }
  return {request.rows_due(), request.companion_due()};
}

SequenceView Scheduler::view(Active& request, int slot, double slack_s) {
  const Due now = due(request);
  const KvHold& cache = request.tracks[0].cache;
  const KvHold& companion = request.tracks[1].cache;
  SequenceView view;
  view.slot = slot;
  view.order = request.id;
  view.rows_due = now.rows;
  view.companion_due = now.companion_rows;
  view.pages_wanted = cache_.wanted(cache, cache.rows + now.rows);
  if (now.companion_rows > 0) {
    view.pages_wanted += cache_.wanted(companion, companion.rows + now.companion_rows);
  }
  view.decoding = cache.rows > 0 && now.rows == 1 && now.companion_rows <= 1;
  view.started = request.started();
  view.slack_s = slack_s;
  return view;
}

/// Seconds of audio that the frames waiting for chunk stages will be.
double Scheduler::pipe_s(Active& request) {
  double samples = 0;
  for (size_t i = 0; i < samples_per_frame_.size(); ++i) {
    request.with_lane(i, [&](auto& lane) {
      const int64_t frames = lane.waiting() - (lane.closed() ? 0 : lane.policy().lookahead);
      samples += static_cast<double>(std::max<int64_t>(0, frames)) * samples_per_frame_[i];
    });
  }
  return samples / pipeline_->info().sample_rate;
}

ChunkCut Scheduler::next_cut(Active& request, size_t link, double slack_s) {
  const bool hurry = request.started() && late_share_ < kOverload &&
                     slack_s < urgent_slack_s(snapshot_.costs, options_.max_batch);
  const ChunkStage& stage = *pipeline_->links()[link].stage;
  const StreamState& state = *request.streams[link];
  if (link > 0) {
    const Lane<float>& lane = request.values[link - 1];
    const WaitingFrames waiting{{}, lane.frames(), lane.closed()};
    return lane.with_fresh(stage.cut(state, waiting, lane.next(0, hurry).fresh));
  }
  const Lane<int32_t>& lane = request.codes;
  const int first = request.first_frames > 0 ? request.first_frames : first_chunk_.frames();
  const WaitingFrames waiting{lane.frames(), {}, lane.closed()};
  return lane.with_fresh(stage.cut(state, waiting, lane.next(first, hurry).fresh));
}

void Scheduler::begin_segment(Active& request) {
  for (int t = 0; t < (request.guided ? 2 : 1); ++t) {
    Track& track = request.tracks[t];
    track.keys.clear();
    track.published = false;
    track.looked = ~uint64_t{0};
    request.state->prefix_keys(t == 1, track.keys);
  }
  metrics_.prompt_rows.add(request.state->prompt_rows());
  request.common_rows = 0;
  if (!request.guided) return;
  const std::vector<uint64_t>&a = request.tracks[0].keys, &b = request.tracks[1].keys;
  const int most =
      std::min({static_cast<int>(a.size()), static_cast<int>(b.size()),
                request.state->prompt_rows() - 1, request.state->companion_rows() - 1});
  int common = 0;
  while (common < most && a[common] == b[common]) ++common;
  if (common >= kLeastCommonRows) request.common_rows = common;
}

void Scheduler::look_for_prefix(Active& request) {
  for (int t = 0; t < (request.guided ? 2 : 1); ++t) {
    Track& track = request.tracks[t];
    if (track.looked == cache_.published() || track.keys.empty() || track.cache.rows > 0 ||
        !track.cache.pages.empty()) {
      continue;
    }
    track.looked = cache_.published();
    const int rows = t == 0 ? request.state->prompt_rows() : request.state->companion_rows();
    const int found = cache_.adopt(track.keys, rows - 1, track.cache);
    if (t == 0) metrics_.prefix_rows.add(found);
  }
}

/// Takes the pages of the youngest request for the sake of the oldest that wants to go on; the
/// loser computes its cache again later (I2).
bool Scheduler::make_room() {
  const auto oldest = std::min_element(
      snapshot_.sequences.begin(), snapshot_.sequences.end(),
      [](const SequenceView& a, const SequenceView& b) { return a.order < b.order; });
  for (size_t slot = active_.size(); slot-- > 0;) {
    Active& request = *active_[slot];
    const bool holds =
        !request.tracks[0].cache.pages.empty() || !request.tracks[1].cache.pages.empty();
    if (!holds || static_cast<int>(slot) == oldest->slot) continue;
    drop_cache(request);
    // Taking the same prefix again at once would leave nobody any room.
    for (Track& track : request.tracks) track.looked = cache_.published();
    metrics_.preemptions.add();
    return true;
  }
  return false;
}

void Scheduler::drop_cache(Active& request) {
  for (Track& track : request.tracks) cache_.release(track.cache);
}

// ---------------------------------------------------------------------------- laying out

void Scheduler::reserve(KvHold& hold, int rows) {
  copies_.clear();
  SYRINX_CHECK(cache_.reserve(hold, rows, copies_), "a plan took more pages than there are");
  for (const PageCopy& copy : copies_) {
    for (const KvPool& pool : kv_) pool.copy_page(copy.from, copy.to);
  }
}

void Scheduler::lay_out_step(Batch& batch, double now) {
  size_t widest = 1;
  for (const PlannedSequence& planned : plan_.sequences) {
    Active& request = *active_[planned.slot];
    const Due all = due(request);
    KvHold& cache = request.tracks[0].cache;
    KvHold& companion = request.tracks[1].cache;
    reserve(cache, cache.rows + all.rows);
    if (all.companion_rows > 0) reserve(companion, companion.rows + all.companion_rows);
    widest = std::max({widest, cache.pages.size(), companion.pages.size()});
  }
  batch.begin_step(static_cast<int>(widest));
  for (const PlannedSequence& planned : plan_.sequences) {
    Active& request = *active_[planned.slot];
    const KvHold& cache = request.tracks[0].cache;
    const KvHold& companion = request.tracks[1].cache;
    const bool emits =
        planned.rows == request.rows_due() && planned.companion_rows == request.companion_due();
    StepSequence seq;
    seq.state = request.state.get();
    seq.first_pos = cache.rows;
    seq.rows = planned.rows;
    seq.emits = emits;
    seq.guided = emits && request.guided;
    seq.scale = request.scale;
    seq.seed = request.seed;
    seq.step = request.total_steps;
    if (planned.rows > 0) {
      batch.add(seq, cache.pages);
      batch.owners.push_back(&request);
    }
    if (planned.companion_rows > 0) {
      seq.first_pos = companion.rows;
      seq.rows = planned.companion_rows;
      seq.companion = true;
      seq.guided = false;
      batch.add(seq, companion.pages);
      batch.owners.push_back(&request);
    }
    request.stepping = true;
    ++steps_in_flight_;
    if (request.outcome.waited_s == 0) {
      request.outcome.waited_s = std::max(1e-9, now - request.submitted_s);
      metrics_.wait_s.observe(request.outcome.waited_s);
      if (trace_) trace_->request_moment(request.id, "first step", now);
    }
  }
}

void Scheduler::lay_out_chunks(Batch& batch, double now) {
  const size_t link = plan_.link;
  batch.begin_chunks(plan_.link, *pipeline_->links()[link].stage);
  for (int slot : plan_.chunk_slots) {
    Active& request = *active_[slot];
    const double slack = request.started() ? request.slack_s(now) : 0;
    const ChunkCut cut = next_cut(request, link, slack);
    request.with_lane(link, [&](auto& lane) {
      batch.add(request.streams[link].get(), lane.window(cut), cut.left, cut.fresh, cut.ahead,
                cut.last);
      lane.take(cut);
    });
    batch.owners.push_back(&request);
    request.chunking |= 1u << link;
  }
  batch.seal_chunks();
}

}  // namespace syrinx
