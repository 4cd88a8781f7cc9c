#include "engine/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

/// A shorter common beginning is not worth waiting for.
constexpr int kLeastCommonRows = 8;
constexpr double kLeastPlaces = 8;
/// A share of late chunks past which smaller chunks would only add to the load.
constexpr double kOverload = 0.005;
/// Of the capacity that was learned, what is given away.
constexpr double kHeadroom = 0.95;
/// Of the pages that are free, guesses of one sequence may take the this-th part.
constexpr int kShareForDrafts = 16;
constexpr double kLeastMade_s = 20;  // output before the capacity counts as learned
/// How often a request paused by its reader is looked at again.
constexpr double kPausedPoll_s = 0.01;
/// A batch of requests in the background is kept as short as this, so that others need not wait.
constexpr double kLongestBackground_s = 0.02;
constexpr double kUnbounded_s = std::numeric_limits<double>::infinity();

}  // namespace

Scheduler::Scheduler(const EngineOptions& options, const PlacesSpec& spec, Platform& platform)
    : options_(options),
      platform_(platform),
      spec_(spec),
      policy_(find_policy(options.policy)),
      realtime_(options.policy == "streaming"),
      background_time_(options.background_share, spec.here()) {
  if (!policy_) throw LoadError("there is no policy '" + options.policy + "'");
  if (!options.trace_file.empty()) trace_ = std::make_unique<TraceLog>(options.trace_file, now());
  for (const PlaceSpec& wanted : spec_.places) {
    Place& place = places_.emplace_back();
    place.index = static_cast<int>(places_.size()) - 1;
    place.steps = wanted.steps;
    place.away = wanted.away;
    for (int i = 0; i < (spec_.inline_run && !wanted.away ? 1 : 2); ++i) {
      place.batches.emplace_back().executor = place.index;
      place.free.push_back(&place.batches.back());
    }
    if (trace_) {
      trace_->name_row(place.index + 1, wanted.away        ? "elsewhere"
                                        : spec_.inline_run ? "executor (shared)"
                                                           : "executor");
    }
  }
  snapshot_.max_batch = options.max_batch;
  snapshot_.max_prefill_rows = options.max_prefill_rows;
}

Scheduler::~Scheduler() = default;

// ---------------------------------------------------------------------------- models

void Scheduler::add(ResidentModel& model) {
  models_.push_back(&model);
  settle_nodes();
}

void Scheduler::remove(ResidentModel& model) {
  model.leaving = true;
  for (auto& request : active_) {
    if (request->model == &model) finish(*request, FinishReason::kCancelled);
  }
  for (auto& request : waiting_) {
    if (request->model == &model) finish(*request, FinishReason::kCancelled);
  }
}

bool Scheduler::has(const ResidentModel& model) const {
  return std::find(models_.begin(), models_.end(), &model) != models_.end();
}

/// Forgets models that are to leave and have no request any more.
void Scheduler::let_go() {
  const auto gone = std::remove_if(models_.begin(), models_.end(), [](const ResidentModel* model) {
    return model->leaving && model->requests == 0;
  });
  if (gone == models_.end()) return;
  models_.erase(gone, models_.end());
  settle_nodes();
}

/// Numbers the nodes of all models anew. With split executors the AR nodes take turns in having a
/// place of their own, so that the long steps of one do not stand in the way of another's.
void Scheduler::settle_nodes() {
  spots_.clear();
  int homes = 0;
  for (size_t m = 0; m < models_.size(); ++m) {
    ResidentModel& model = *models_[m];
    model.number = static_cast<int>(m);
    model.first_node = static_cast<int>(spots_.size());
    for (size_t n = 0; n < model.nodes.size(); ++n) {
      spots_.push_back({&model, static_cast<int>(n)});
      if (model.nodes[n].ar) {
        const int places = spec_.here();
        model.nodes[n].place = (2 * places - 1 - homes++ % places) % places;
      }
    }
  }
  work_.reserve(spots_.size());  // a steady step allocates nothing
  snapshot_.nodes.reserve(spots_.size());
  ++generation_;
}

void Scheduler::warm(Batch& batch) const {
  if (batch.warmed_for == generation_) return;
  batch.warmed_for = generation_;
  for (const Spot& spot : spots_) {
    const ResidentNode& node = spot.model->nodes[spot.node];
    if (node.ar) {
      const int64_t longest = KvPool::pages_for(node.ar->traits().max_positions);
      batch.warm_steps(options_.max_batch,
                       static_cast<int>(std::min<int64_t>(longest, node.cache->total())));
    } else {
      batch.warm_chunks(options_.max_batch, *node.chunk, node.policy);
    }
  }
}

bool Scheduler::may_step(const Place& place, const ResidentNode& node) const {
  return spec_.split ? node.place == place.index : place.steps;
}

/// Whether a batch of the node may be given to the place now. Nobody waits there behind a batch of
/// another model, whose steps may be long.
bool Scheduler::may_run(const Place& place, const Spot& spot) const {
  const ResidentNode& node = spot.model->nodes[spot.node];
  if (node.away != place.away) return false;
  const bool busy = place.free.size() < place.batches.size();
  if (busy && place.running != spot.model) return false;
  return !node.ar || may_step(place, node);
}

// ---------------------------------------------------------------------------- mail

void Scheduler::take_in(std::unique_ptr<Active> request) {
  if (trace_) trace_->request_began(request->id, request->submitted_s);
  ++request->model->requests;
  if (request->unopened) open_soon(*request, std::move(request->unopened));
  waiting_.push_back(std::move(request));
}

/// Has a host thread make the prompts.
void Scheduler::open_soon(Active& request, std::unique_ptr<const SpeechRequest> unopened) {
  auto job = std::make_unique<HostJob>();
  job->owner = &request;
  job->model = request.model;
  job->request = std::move(unopened);
  platform_.prepare(std::move(job));
  request.opening = true;
  ++jobs_away_;
}

Active* Scheduler::find(RequestId id) {
  for (auto& request : active_) {
    if (request->id == id && request->sink) return request.get();
  }
  for (auto& request : waiting_) {
    if (request->id == id && request->sink) return request.get();
  }
  return nullptr;
}

void Scheduler::cancel(RequestId id) {
  if (Active* request = find(id)) finish(*request, FinishReason::kCancelled);
}

void Scheduler::hurry(RequestId id) {
  if (Active* request = find(id)) request->background = false;
}

void Scheduler::append_text(RequestId id, std::string text, bool last) {
  Active* request = find(id);
  if (!request) return;
  const int reader = request->model->graph().reader();
  if (reader == kClient) {
    return fail(*request, {ErrorCode::kUnsupported, "this model takes no text", "text"});
  }
  guarded(*request, [&] {
    Late late{.text = std::move(text), .last = last};
    if (request->parts) {
      SpokenParts::LiveText live;
      const Status read = request->parts->push(late.text, last, live);
      if (!read.ok()) return fail(*request, read.error());
      if (live.text.empty() && !live.last) return;
      late.text = std::move(live.text);
      late.last = live.last;
    }
    if (request->opening) {
      request->early.push_back(std::move(late));
    } else {
      give(*request, reader, std::move(late));
    }
  });
}

/// Hands something to a sequence, or keeps it until the sequence is back.
void Scheduler::give(Active& request, int node, Late late) {
  if (!request.runs[node].ar || !request.runs[node].ar->open) return;
  ArRun& run = *request.runs[node].ar;
  run.late.push_back(std::move(late));
  if (!run.away()) give_late(request, node);
}

/// What waits for a sequence that is here: frames at once, text by way of a host thread.
void Scheduler::give_late(Active& request, int node) {
  ArRun& run = *request.runs[node].ar;
  while (!run.late.empty() && request.sink && !run.away()) {
    Late late = std::move(run.late.front());
    run.late.pop_front();
    if (late.port < 0) {
      auto job = std::make_unique<HostJob>();
      job->owner = &request;
      job->node = node;
      job->sequence = run.sequence.get();
      job->text = std::move(late.text);
      job->last = late.last;
      platform_.prepare(std::move(job));
      run.preparing = true;
      ++jobs_away_;
      continue;
    }
    guarded(request, [&] {
      const Frames frames{late.type, late.count, late.ints, late.floats, {}, late.last};
      const Status status = run.sequence->take(late.port, frames);
      if (!status.ok()) return fail(request, status.error());
      const std::string problem = misfit(request.model->nodes[node], *run.sequence);
      if (!problem.empty()) fail(request, {ErrorCode::kInvalid, problem, "input"});
    });
  }
}

void Scheduler::commit(std::unique_ptr<HostJob> job) {
  --jobs_away_;
  Active& request = *job->owner;
  if (request.opening) return commit_opened(request, *job);
  ArRun& run = *request.runs[job->node].ar;
  run.preparing = false;
  if (!request.sink) return drop_cache(request, job->node);  // it ended meanwhile
  if (!job->result.ok()) return fail(request, job->result.error());
  guarded(request, [&] {
    if (request.promoted && !run.begun) begin_segment(request, job->node);
    // Text may have made the segment longer than there is room for.
    const std::string problem = misfit(request.model->nodes[job->node], *run.sequence);
    if (!problem.empty()) fail(request, {ErrorCode::kInvalid, problem, "input"});
    give_late(request, job->node);
  });
}

void Scheduler::commit_opened(Active& request, HostJob& job) {
  request.opening = false;
  if (!request.sink) return;  // it ended meanwhile
  if (!job.result.ok()) return fail(request, job.result.error());
  request.runs = std::move(job.runs);
  guarded(request, [&] {
    const int reader = request.model->graph().reader();
    for (Late& late : request.early) give(request, reader, std::move(late));
    request.early.clear();
  });
  if (!request.promoted) return;  // promote() does it
  for (size_t n = 0; n < request.runs.size() && request.sink; ++n) {
    const ArRun* run = request.runs[n].ar.get();
    if (!run || run->away() || run->begun) continue;
    guarded(request, [&] { begin_segment(request, static_cast<int>(n)); });
  }
}

/// What follows a part that was spoken: silence, and the next one, for which the request keeps its
/// place.
void Scheduler::next_part(Active& request) {
  SpokenParts& parts = *request.parts;
  be_silent(request, parts.take_pause());
  if (!request.sink) return;
  const SpokenParts::Next next = parts.next();
  if (next == SpokenParts::Next::kDone) return finish(request, FinishReason::kStop);
  request.starved = next == SpokenParts::Next::kWait;
  if (request.starved) return;
  SYRINX_CHECK(!request.in_flight(), "a part has ended and is in a batch");
  drop_caches(request);
  request.runs = std::vector<NodeRun>(request.runs.size());
  request.part_began_s = request.outcome.audio_s;
  request.between = false;
  open_soon(request, parts.begin(request.frames_before));
}

/// Runs work on one request; whatever it throws fails that request and nobody else (I8).
void Scheduler::guarded(Active& request, FunctionRef<void()> work) {
  try {
    work();
  } catch (const std::exception& e) {
    fail(request, {ErrorCode::kInternal, e.what()});
  } catch (...) {
    fail(request, {ErrorCode::kInternal, "something was thrown that is no exception"});
  }
}

// ---------------------------------------------------------------------------- places

/// Requests of a model that may run at once: as many as can be fed at the speed of playback beside
/// the requests of other models, but a few always.
double Scheduler::places(const ResidentModel& model) const {
  if (!realtime_ || model.capacity <= 0 || model.made_s < kLeastMade_s) {
    return model.options.max_requests;
  }
  double left = kHeadroom;
  for (const ResidentModel* other : models_) {
    if (other != &model && other->capacity > 0) left -= other->holding / other->capacity;
  }
  return std::max(kLeastPlaces, std::min(left * model.capacity, model.limit.places()));
}

/// Under load requests end as fast as their output can be made.
Load Scheduler::load(const ResidentModel& model) const {
  int waiting = 0;
  for (const auto& request : waiting_) waiting += request->model == &model ? 1 : 0;
  const double rate = std::min(model.capacity, model.limit.places());
  return {model.holding, waiting, places(model),
          model.mean_made_s > 0 ? rate / model.mean_made_s : 0};
}

/// A request whose reader has more than it takes holds no place, and one in the background none.
void Scheduler::count_holding() {
  for (ResidentModel* model : models_) model->holding = 0;
  for (const auto& request : active_) {
    if (request->sink && !request->unread && !request->background) ++request->model->holding;
  }
}

/// Gives free places to those who wait: first of the client that has the fewest, then in order.
/// Nobody waits longer than was promised: who does is refused after all.
void Scheduler::promote() {
  const double at = now();
  for (auto& request : waiting_) {
    const double promised_s = request->model->options.max_wait_s;
    if (request->sink && realtime_ && at - request->submitted_s > promised_s) {
      request->model->metrics.rejected_queue.add();
      fail(*request, {ErrorCode::kOverloaded,
                      concat("no place came free within the ", promised_s, " s that were promised"),
                      {},
                      1});
    }
  }
  ended_.reserve(ended_.size() + waiting_.size());  // nothing may throw half way
  std::erase_if(waiting_, [&](const auto& request) {
    if (request->sink || request->in_flight()) return false;
    --request->model->requests;
    ended_.push_back({request->model, request->client});
    return true;
  });
  count_holding();
  if (waiting_.empty()) return;
  for (ResidentModel* model : models_) {
    const double places_now = places(*model);
    for (;;) {
      const bool room = static_cast<double>(model->holding) < places_now;
      std::map<uint64_t, int> held;
      if (room && places_now < model->options.max_requests) {
        for (const auto& request : active_) {
          if (request->model == model) ++held[request->client];
        }
      }
      auto best = waiting_.end();
      for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
        if ((*it)->model != model || !(*it)->sink || (*it)->opening) continue;
        if (!room && !(*it)->background) continue;
        if (best == waiting_.end() || held[(*it)->client] < held[(*best)->client]) best = it;
      }
      if (best == waiting_.end()) break;
      active_.push_back(std::move(*best));
      waiting_.erase(best);
      Active& fresh = *active_.back();
      model->holding += fresh.background ? 0 : 1;
      fresh.promoted = true;
      for (size_t n = 0; n < fresh.runs.size(); ++n) {
        const ArRun* run = fresh.runs[n].ar.get();
        if (!run || run->away()) continue;
        guarded(fresh, [&] { begin_segment(fresh, static_cast<int>(n)); });
      }
    }
  }
}

/// Forgets those that have ended and are in no batch, and lets others take their places.
void Scheduler::sweep() {
  ended_.reserve(ended_.size() + active_.size());  // nothing may throw half way
  std::erase_if(active_, [&](const auto& request) {
    if (request->sink) return false;
    drop_caches(*request);
    if (request->in_flight()) return false;
    --request->model->requests;
    ended_.push_back({request->model, request->client});
    return true;
  });
}

double Scheduler::look_again_s() const {
  if (paused_) return kPausedPoll_s;
  for (const ResidentModel* model : models_) {
    if (model->limit.limited()) return PlaceLimit::kLook_s;
  }
  return waiting_.empty() ? kUnbounded_s : PlaceLimit::kLook_s;
}

// ---------------------------------------------------------------------------- plan

bool Scheduler::dispatch() {
  sweep();
  learn();
  promote();
  for (auto& request : active_) {
    if (request->between && request->sink) guarded(*request, [&] { next_part(*request); });
  }
  let_go();
  bool any = false;
  for (const bool away : {true, false}) {  // what runs elsewhere keeps nobody here
    for (Place& place : places_) {
      while (place.away == away && !place.free.empty() && fill(place)) {
        any = true;
        if (spec_.inline_run && !away) return true;  // it has run; the mail comes first
      }
    }
  }
  if (make_room()) any = true;
  for (const auto& request : active_) {
    any = any || (!request->sink && !request->in_flight());  // it failed now: to be swept
  }
  for (ResidentModel* model : models_) {
    int running = 0, waiting = 0;
    for (const auto& request : active_) running += request->model == model ? 1 : 0;
    for (const auto& request : waiting_) waiting += request->model == model ? 1 : 0;
    model->metrics.running.set(running);
    model->metrics.waiting.set(waiting);
  }
  return any;
}

/// Plans for one executor and gives it the batch; false when there is nothing for it.
bool Scheduler::fill(Place& place) {
  const double began_s = now();
  look(place, began_s);
  if (views_[kLive].empty() && views_[kBackground].empty()) return false;
  clear_the_way();
  const bool live = plan(kLive, began_s), background = !live && plan(kBackground, began_s);
  if (!live && !background) {
    if (!models_.empty()) models_.front()->metrics.overhead_s.add(now() - began_s);
    return false;
  }
  if (one_by_one_) plan_.keep_first();
  const Spot spot = spots_[plan_.node];
  Batch& batch = *place.free.back();
  warm(batch);
  batch.model = spot.model;
  batch.node = spot.node;
  batch.background = background;
  bool laid_out = false, has_run = false;
  try {
    plan_.kind == Plan::kAr ? lay_out_step(batch, began_s) : lay_out_chunks(batch);
    laid_out = true;
    spot.model->metrics.overhead_s.add(now() - began_s);
    has_run = platform_.run(place.index, batch);
  } catch (const std::exception& e) {
    give_up(batch, laid_out, e.what());
    return true;
  } catch (...) {
    give_up(batch, laid_out, "something was thrown that is no exception");
    return true;
  }
  one_by_one_ = false;
  place.free.pop_back();
  place.running = spot.model;
  ++batches_away_;
  if (has_run) commit(&batch);
  return true;
}

/// Plans for the requests of one urgency; false: nothing.
bool Scheduler::plan(Urgency urgency, double now) {
  plan_.clear();
  Views& views = views_[urgency];
  if (views.empty()) return false;
  snapshot_.longest_s = kUnbounded_s;
  if (urgency == kBackground) {
    // Whoever comes next finds the executor free soon.
    if (snapshot_.ahead) return false;
    if (!background_time_.may(now)) return paused_ = true, false;  // look again soon
    const double patience_s = patience_of_listeners(now);
    snapshot_.longest_s = std::min(kLongestBackground_s, patience_s);
    const std::vector<SequenceView>& stuck = views_[kLive].sequences;  // for want of pages
    std::erase_if(views.sequences, [&](const SequenceView& view) {
      const auto of_its_node = [&](const SequenceView& other) { return other.node == view.node; };
      return snapshot_.nodes[view.node].cost.of(1) > patience_s ||
             std::any_of(stuck.begin(), stuck.end(), of_its_node);
    });
    keep_background_small(views.sequences);
    std::erase_if(views.chunks, [&](const ChunkView& view) {
      return snapshot_.nodes[view.node].cost.of(view.frames) > patience_s;
    });
    paused_ = paused_ || views.empty();  // look again soon
  }
  snapshot_.sequences.swap(views.sequences);
  snapshot_.chunks.swap(views.chunks);
  if (!snapshot_.sequences.empty() || !snapshot_.chunks.empty()) policy_(snapshot_, plan_);
  snapshot_.sequences.swap(views.sequences);
  snapshot_.chunks.swap(views.chunks);
  return plan_.kind != Plan::kIdle;
}

/// Seconds that an executor may be away without a listener running dry.
double Scheduler::patience_of_listeners(double now) {
  double slack_s = kUnbounded_s;
  for (const auto& request : active_) {
    if (!request->sink || request->background || request->unread || !request->heard()) continue;
    slack_s = std::min(slack_s, audio_slack_s(*request, now));
  }
  return slack_s - kStreamingRules.margin_s;
}

/// Leaves out what would take more pages than requests in the background may hold. Of those that
/// can go on the oldest is never left out, so that it ends and makes room.
void Scheduler::keep_background_small(std::vector<SequenceView>& views) const {
  for (int s = 0; s < std::ssize(spots_); ++s) {
    const Spot& spot = spots_[s];
    const ResidentNode& node = spot.model->nodes[spot.node];
    if (!node.ar || spot.model->options.background_pages >= 1) continue;
    const int most = static_cast<int>(spot.model->options.background_pages * node.cache->total());
    const auto first = std::ranges::find(views, s, &SequenceView::node);
    int held = 0, oldest = first == views.end() ? -1 : first->slot;
    for (int slot = 0; slot < std::ssize(active_); ++slot) {
      const Active& request = *active_[slot];
      if (!request.background || request.model != spot.model || request.runs.empty()) continue;
      const ArRun* run = request.runs[spot.node].ar.get();
      if (!run || !run->holds()) continue;
      if (run->stepping) oldest = std::min(oldest, slot);
      for (const Track& track : run->tracks) held += static_cast<int>(track.cache.pages.size());
    }
    std::erase_if(views, [&](const SequenceView& view) {
      if (view.node != s) return false;
      if (view.slot != oldest && held + view.pages_wanted > most) return true;
      held += view.pages_wanted;
      return false;
    });
  }
}

/// Takes pages of requests in the background where others want them.
void Scheduler::clear_the_way() {
  for (const SequenceView& view : views_[kLive].sequences) {
    NodeView& node = snapshot_.nodes[view.node];
    const Spot spot = spots_[view.node];
    for (size_t slot = active_.size(); slot-- > 0 && view.pages_wanted > node.pages_free;) {
      Active& request = *active_[slot];
      if (!request.background || request.model != spot.model || request.runs.empty()) continue;
      const ArRun* run = request.runs[spot.node].ar.get();
      if (!run || !run->holds() || run->away()) continue;
      give_back(request, spot.node);
      std::erase_if(views_[kBackground].sequences, [&](const SequenceView& its) {
        return its.slot == static_cast<int>(slot) && its.node == view.node;
      });
      node.pages_free = spot.model->nodes[spot.node].cache->available();
    }
  }
}

/// A batch that could not be laid out. Whose fault it is shows when they are laid out one by one:
/// who is alone in a batch fails, and nobody else notices. One that was laid out and found no
/// executor fails all of its requests, whose frames it has taken.
void Scheduler::give_up(Batch& batch, bool laid_out, const char* why) {
  const auto take_back = [&](int slot) {
    NodeRun& run = active_[slot]->runs[batch.node];
    if (run.chunk) run.chunk->running = false;
    if (run.ar && run.ar->stepping) {
      run.ar->stepping = false;
      --batch.model->nodes[batch.node].steps_in_flight;
    }
  };
  for (const PlannedSequence& planned : plan_.sequences) take_back(planned.slot);
  for (const int slot : plan_.chunk_slots) take_back(slot);
  batch.owners.clear();
  one_by_one_ = !laid_out && plan_.sequences.size() + plan_.chunk_slots.size() > 1;
  if (one_by_one_) return;
  for (const PlannedSequence& planned : plan_.sequences) {
    fail(*active_[planned.slot], {ErrorCode::kInternal, why});
  }
  for (const int slot : plan_.chunk_slots) fail(*active_[slot], {ErrorCode::kInternal, why});
}

void Scheduler::look(const Place& place, double now) {
  for (Views& views : views_) views.sequences.clear(), views.chunks.clear();
  snapshot_.nodes.clear();
  snapshot_.ahead = place.free.size() < place.batches.size();
  for (const Spot& spot : spots_) {
    const ResidentNode& node = spot.model->nodes[spot.node];
    snapshot_.nodes.push_back({.model = spot.model->number,
                               .ar = node.ar != nullptr,
                               .here = may_run(place, spot),
                               .cost = node.cost.cost(),
                               .pages_free = 0,
                               .steps_in_flight = node.steps_in_flight});
  }
  paused_ = false;
  for (size_t slot = 0; slot < active_.size(); ++slot) {
    if (!active_[slot]->sink) continue;
    Views& views = views_[active_[slot]->background ? kBackground : kLive];
    const size_t sequences = views.sequences.size(), chunks = views.chunks.size();
    views_now_ = &views;
    look_at(*active_[slot], static_cast<int>(slot), now);
    if (active_[slot]->sink) continue;
    views.sequences.resize(sequences), views.chunks.resize(chunks);  // it failed
  }
  for (ResidentModel* model : models_) {
    tell_pages(*model);
    for (size_t n = 0; n < model->nodes.size(); ++n) {
      const ResidentNode& node = model->nodes[n];
      if (node.ar) snapshot_.nodes[model->first_node + n].pages_free = node.cache->available();
    }
  }
}

/// The model's gauges of pages.
void Scheduler::tell_pages(ResidentModel& model) {
  double free = 0, prefixes = 0;
  for (const ResidentNode& node : model.nodes) {
    if (!node.ar) continue;
    free += node.cache->available();
    prefixes += node.cache->prefix_pages();
  }
  model.metrics.pages_free.set(free);
  model.metrics.prefix_pages.set(prefixes);
}

void Scheduler::look_at(Active& request, int slot, double now) {
  const ResidentModel& model = *request.model;
  guarded(request, [&] {
    request.unread = (request.heard() || request.tokens_read > 0) &&
                     request.sink->unread_s() > model.options.max_unread_s;
  });
  if (!request.sink) return;
  if (request.unread) {
    paused_ = true;
    return;
  }
  const int nodes = static_cast<int>(request.runs.size());
  const double slack = request.heard() ? request.slack_s(now) : request.submitted_s - now;
  for (int n = 0; n < nodes; ++n) {
    NodeRun& run = request.runs[n];
    if (!run.chunk || run.chunk->running || run.ended) continue;
    guarded(request, [&] {
      const ChunkCut cut = run.chunk->cut = next_cut(request, n, slack);
      if (cut.fresh == 0) return;
      views_now_->chunks.push_back({slot, model.first_node + n, request.id, cut.fresh,
                                    cut.full || cut.last, request.heard(), slack});
    });
    if (!request.sink) return;
  }
  for (int n = 0; n < nodes; ++n) {
    ArRun* run = request.runs[n].ar.get();
    if (!run || !run->open || run->away() || waits_for_room(request, n)) continue;
    guarded(request, [&] { look_at_steps(request, n, slot, now); });
    if (!request.sink) return;
  }
}

/// Whether an edge that leaves the node is full: its producer is then not in the plan.
bool Scheduler::waits_for_room(Active& request, int node) {
  const Graph& graph = request.model->graph();
  for (const int e : graph.leaving(node)) {
    const Edge& edge = graph.edges()[e];
    if (edge.to.node == kClient || !request.runs[edge.to.node].chunk) continue;
    const int64_t waiting =
        request.runs[edge.to.node].chunk->with_lane([](auto& lane) { return lane.waiting(); });
    if (waiting >= edge.window) return true;
  }
  return false;
}

void Scheduler::look_at_steps(Active& request, int n, int slot, double now) {
  ArRun& run = *request.runs[n].ar;
  const ResidentModel& model = *request.model;
  const ResidentNode& node = model.nodes[n];
  const Due rows = due(node, run);
  if (rows.rows + rows.companion_rows == 0) {
    // The client lets its reader wait; another node waits for our own.
    if (n == model.graph().reader()) request.starved = true;
    return;
  }
  if (model.options.share_prefixes) look_for_prefix(request, n);
  const Due wanted = due(node, run);
  if (wanted.rows + wanted.companion_rows == 0) return;  // others had computed all that is known
  const KvHold& cache = run.tracks[0].cache;
  const KvHold& companion = run.tracks[1].cache;
  SequenceView view;
  view.slot = slot;
  view.node = model.first_node + n;
  view.order = request.id;
  view.rows_due = wanted.rows;
  view.companion_due = wanted.companion_rows;
  view.pages_wanted = node.cache->wanted(cache, cache.rows + wanted.rows);
  if (wanted.companion_rows > 0) {
    view.pages_wanted += node.cache->wanted(companion, companion.rows + wanted.companion_rows);
  }
  view.decoding = cache.rows > 0 && wanted.rows == 1 && wanted.companion_rows <= 1;
  view.begun = cache.rows > 0;
  look_at_draft(run, node, view);

  // Of several outputs the one that runs dry first counts.
  const Graph& graph = model.graph();
  const bool writes = graph.writer() == n, speaks = request.speaks();
  view.started = (!speaks || request.heard()) && (!writes || request.tokens_read > 0);
  view.reads = writes && !speaks;
  view.slack_s = request.submitted_s - now;
  if (view.started) {
    view.slack_s = speaks ? audio_slack_s(request, now) : kUnbounded_s;
    if (writes) {
      const double read_s = static_cast<double>(request.tokens_read) / kTokensReadASecond;
      view.slack_s = std::min(view.slack_s, request.text_since_s + read_s - now);
    }
  }
  views_now_->sequences.push_back(view);
}

/// Guesses that may be run behind the rows that are due.
void Scheduler::look_at_draft(const ArRun& run, const ResidentNode& node, SequenceView& view) {
  if (!options_.drafts || !node.ar->traits().drafts || !run.sequence->ready() || run.guided) return;
  const KvHold& cache = run.tracks[0].cache;
  int guesses = static_cast<int>(run.sequence->draft().size());
  guesses = std::min(guesses, run.sequence->max_steps() - run.steps - 1);
  const int wanted = node.cache->wanted(cache, cache.rows + view.rows_due + guesses);
  // Where pages are few, guesses must do with those that are held.
  if (wanted > view.pages_wanted && wanted > node.cache->available() / kShareForDrafts) return;
  view.pages_wanted = wanted;
  view.drafts = std::max(0, guesses);
  view.draft_odds = run.draft_odds;
}

/// Rows that may run now. A companion whose prompt begins like its sequence's waits until that
/// beginning is in the cache, then shares it.
Scheduler::Due Scheduler::due(const ResidentNode& node, const ArRun& run) const {
  const int rows = run.tracks[0].cache.rows;
  if (!run.sequence->ready()) {
    // The last row waits: it may be the one that yields the first step.
    const int known = run.steps == 0 ? run.sequence->known_rows() : 0;
    return {std::max(0, known - 1 - rows), 0};
  }
  const int companion = run.companion_due(std::ssize(node.ar->traits().vocab));
  if (companion > 0 && run.tracks[1].cache.rows == 0 && rows < run.common_rows) {
    return {run.common_rows - rows, 0};
  }
  return {run.rows_due(), companion};
}

/// Seconds of audio that a listener and the frames waiting for chunk nodes have.
double Scheduler::audio_slack_s(Active& request, double now) {
  return request.slack_s(now) + pipe_s(request);
}

double Scheduler::pipe_s(Active& request) {
  double samples = 0;
  for (size_t n = 0; n < request.runs.size(); ++n) {
    if (!request.runs[n].chunk) continue;
    request.runs[n].chunk->with_lane([&](auto& lane) {
      const int64_t frames = lane.waiting() - (lane.closed() ? 0 : lane.policy().lookahead);
      samples += static_cast<double>(std::max<int64_t>(0, frames)) *
                 request.model->nodes[n].samples_per_frame;
    });
  }
  return samples / request.model->pipeline->info().sample_rate;
}

ChunkCut Scheduler::next_cut(Active& request, int n, double slack_s) {
  const ResidentModel& model = *request.model;
  const bool hurry = request.heard() && model.late_share < kOverload &&
                     slack_s < urgent_slack_s(snapshot_.nodes, model.number, options_.max_batch);
  int first = 0;
  if (n == model.first_link) {
    // Never more than its edge may hold: the producer would wait for the chunk and it for frames.
    const Edge& edge = model.graph().feeding(n);
    const int64_t most = edge.window - edge.policy.lookahead - edge.policy.multiple + 1;
    first = request.first_frames > 0 ? request.first_frames : model.nodes[n].first_chunk.frames();
    first = static_cast<int>(std::min<int64_t>(first, most));
  }
  ChunkRun& run = *request.runs[n].chunk;
  return run.with_lane([&](auto& lane) {
    WaitingFrames waiting;
    waiting.closed = lane.closed();
    if constexpr (std::is_same_v<std::decay_t<decltype(lane)>, Lane<int32_t>>) {
      waiting.codes = lane.frames();
    } else {
      waiting.values = lane.frames();
    }
    const ChunkStage& stage = *model.nodes[n].chunk;
    return lane.with_fresh(stage.cut(*run.stream, waiting, lane.next(first, hurry).fresh));
  });
}

void Scheduler::begin_segment(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  run.begun = true;
  run.told = 0;
  for (int t = 0; t < (run.guided ? 2 : 1); ++t) {
    Track& track = run.tracks[t];
    track.keys.clear();
    track.published = false;
    track.looked = ~uint64_t{0};
    run.sequence->prefix_keys(t == 1, track.keys);
  }
  request.model->metrics.prompt_rows.add(run.sequence->prompt_rows());
  if (request.model->graph().writer() == n) {
    request.outcome.prompt_tokens = run.sequence->prompt_rows();
  }
  run.common_rows = 0;
  if (!run.guided) return;
  const std::vector<uint64_t>&a = run.tracks[0].keys, &b = run.tracks[1].keys;
  const int most = std::min({static_cast<int>(std::min(a.size(), b.size())),
                             run.sequence->prompt_rows() - 1, run.sequence->companion_rows() - 1});
  int common = 0;
  while (common < most && a[common] == b[common]) ++common;
  if (common >= kLeastCommonRows) run.common_rows = common;
}

/// Takes what others have computed of this prompt, when something new may be there.
void Scheduler::look_for_prefix(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  KvCache& cache = *request.model->nodes[n].cache;
  for (int t = 0; t < (run.guided ? 2 : 1); ++t) {
    Track& track = run.tracks[t];
    if (track.looked == cache.published() || track.keys.empty() || track.cache.rows > 0 ||
        track.holds()) {
      continue;
    }
    track.looked = cache.published();
    const int rows = t == 0 ? run.sequence->prompt_rows() : run.sequence->companion_rows();
    const int found = cache.adopt(track.keys, rows - 1, track.cache);
    if (t == 0) {
      request.model->metrics.prefix_rows.add(found);
      if (request.model->graph().writer() == n) request.outcome.cached_tokens += found;
    }
  }
}

/// Where a node stands still because there are no pages for any of its sequences: for the sake of
/// the oldest takes the pages of one that rests (its reader is slow, its input has not come), or
/// else of the youngest; the loser computes its cache again later (I2).
bool Scheduler::make_room() {
  bool made = false;
  for (int spot = 0; spot < static_cast<int>(spots_.size()); ++spot) {
    ResidentModel& model = *spots_[spot].model;
    const int n = spots_[spot].node;
    const ResidentNode& node = model.nodes[n];
    // An executor that could step it has nothing to do, and yet nothing was planned.
    const bool still = std::any_of(places_.begin(), places_.end(), [&](const Place& place) {
      return may_step(place, node) && place.free.size() == place.batches.size();
    });
    if (!node.ar || node.steps_in_flight > 0 || !still) continue;
    const SequenceView* oldest = nullptr;
    for (const Views& views : views_) {
      for (const SequenceView& view : views.sequences) {
        if (view.node == spot && (!oldest || view.order < oldest->order)) oldest = &view;
      }
      if (oldest) break;
    }
    if (!oldest) continue;
    Active& keep = *active_[oldest->slot];
    made = start_alone(keep, n) || make_room(model, n, &keep, true) ||
           make_room(model, n, &keep, false) || made;
  }
  return made;
}

/// A shared page is copied before it is written to, so a sequence or a pair that shares may want
/// more than there is, although it was let in. Then it begins again and shares nothing.
bool Scheduler::start_alone(Active& request, int n) {
  const ResidentNode& node = request.model->nodes[n];
  const KvCache& cache = *node.cache;
  ArRun& run = *request.runs[n].ar;
  if (!run.holds()) return false;
  const Due rows = due(node, run);
  std::vector<int32_t> held;
  int wanted = 0;
  for (int t = 0; t < 2; ++t) {
    const KvHold& hold = run.tracks[t].cache;
    held.insert(held.end(), hold.pages.begin(), hold.pages.end());
    const int more = t == 0 ? rows.rows : rows.companion_rows;
    if (more > 0) wanted += cache.wanted(hold, hold.rows + more);
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  if (wanted + std::ssize(held) <= cache.total()) return false;
  run.common_rows = 0;
  give_back(request, n);
  return true;
}

/// Takes the pages of a sequence that goes on later.
void Scheduler::give_back(Active& request, int n) {
  drop_cache(request, n);
  // Taking the same prefix again at once would leave nobody any room.
  for (Track& track : request.runs[n].ar->tracks) {
    track.looked = request.model->nodes[n].cache->published();
  }
  request.model->metrics.preemptions.add();
}

bool Scheduler::make_room(ResidentModel& model, int n, const Active* keep, bool resting_only) {
  for (size_t slot = active_.size(); slot-- > 0;) {
    Active& request = *active_[slot];
    if (request.model != &model || &request == keep || !request.runs[n].ar) continue;
    if (keep->background && !request.background) continue;
    ArRun& run = *request.runs[n].ar;
    if (!run.holds() || run.away()) continue;
    if (resting_only && !request.unread && due(model.nodes[n], run).rows > 0) continue;
    give_back(request, n);
    return true;
  }
  return false;
}

void Scheduler::drop_cache(Active& request, int n) {
  for (Track& track : request.runs[n].ar->tracks) {
    request.model->nodes[n].cache->release(track.cache);
  }
}

/// Of the sequences that no batch runs.
void Scheduler::drop_caches(Active& request) {
  for (size_t n = 0; n < request.runs.size(); ++n) {
    const ArRun* run = request.runs[n].ar.get();
    if (run && !run->stepping) drop_cache(request, static_cast<int>(n));
  }
}

// ---------------------------------------------------------------------------- laying out

void Scheduler::reserve(ResidentNode& node, KvHold& hold, int rows) {
  copies_.clear();
  SYRINX_CHECK(node.cache->reserve(hold, rows, copies_), "a plan took more pages than there are");
  for (const PageCopy& copy : copies_) {
    for (const KvPool& pool : node.kv) pool.copy_page(copy.from, copy.to);
  }
}

/// Whether a row before `end` is still to be told to the node's edges.
static bool wants_taps(const ArStage& ar, const ArRun& run, int end) {
  if (ar.traits().tap == 0) return false;
  for (int pos = std::max(run.told, run.tracks[0].cache.rows); pos < end; ++pos) {
    if (run.sequence->tapped(pos)) return true;
  }
  return false;
}

void Scheduler::lay_out_step(Batch& batch, double now) {
  const int n = batch.node;
  ResidentNode& node = batch.model->nodes[n];
  size_t widest = 1;
  for (const PlannedSequence& planned : plan_.sequences) {
    ArRun& run = *active_[planned.slot]->runs[n].ar;
    const Due all = due(node, run);
    KvHold& cache = run.tracks[0].cache;
    KvHold& companion = run.tracks[1].cache;
    reserve(node, cache, cache.rows + all.rows);
    if (all.companion_rows > 0) reserve(node, companion, companion.rows + all.companion_rows);
    if (planned.drafts > 0) reserve(node, cache, cache.rows + planned.rows + planned.drafts);
    widest = std::max({widest, cache.pages.size(), companion.pages.size()});
  }
  batch.begin_step(*node.ar, node.kv, static_cast<int>(widest));
  for (const PlannedSequence& planned : plan_.sequences) {
    Active& request = *active_[planned.slot];
    ArRun& run = *request.runs[n].ar;
    const KvHold& cache = run.tracks[0].cache;
    const KvHold& companion = run.tracks[1].cache;
    const int companion_due = run.companion_due(std::ssize(node.ar->traits().vocab));
    const bool emits = run.sequence->ready() && planned.rows == run.rows_due() &&
                       planned.companion_rows == companion_due;
    StepSequence seq;
    seq.state = run.sequence.get();
    seq.first_pos = cache.rows;
    seq.rows = planned.rows + planned.drafts;
    seq.emits = emits;
    seq.drafts = planned.drafts;
    seq.guided = emits && companion_due > 0;
    seq.seed = request.seed;
    seq.step = run.total_steps;
    seq.scores = run.sequence->scores();
    seq.taps = wants_taps(*node.ar, run, cache.rows + planned.rows);
    if (planned.rows > 0) {
      batch.add(seq, cache.pages, run.sequence->draft().first(planned.drafts));
      batch.owners.push_back(&request);
    }
    if (planned.companion_rows > 0) {
      seq.first_pos = companion.rows;
      seq.rows = planned.companion_rows;
      seq.drafts = 0;
      seq.companion = true;
      seq.guided = seq.taps = false;
      batch.add(seq, companion.pages);
      batch.owners.push_back(&request);
    }
    request.outcome.guessed_tokens += planned.drafts;
    request.model->metrics.drafted.add(planned.drafts);
    run.stepping = true;
    ++node.steps_in_flight;
    if (request.outcome.waited_s == 0) {
      request.outcome.waited_s = std::max(1e-9, now - request.submitted_s);
      request.model->metrics.wait_s.observe(request.outcome.waited_s);
      if (trace_) trace_->request_moment(request.id, "first step", now);
    }
  }
}

void Scheduler::lay_out_chunks(Batch& batch) {
  const int n = batch.node;
  batch.begin_chunks(*batch.model->nodes[n].chunk);
  for (const int slot : plan_.chunk_slots) {
    Active& request = *active_[slot];
    ChunkRun& run = *request.runs[n].chunk;
    const ChunkCut cut = run.cut;
    run.with_lane([&](auto& lane) {
      batch.add(run.stream.get(), lane.window(cut), cut.left, cut.fresh, cut.ahead, cut.last);
    });
    batch.owners.push_back(&request);
  }
  batch.seal_chunks();
  for (const int slot : plan_.chunk_slots) {  // now that nothing can fail any more
    ChunkRun& run = *active_[slot]->runs[n].chunk;
    run.with_lane([&](auto& lane) { lane.take(run.cut); });
    run.running = true;
  }
}

}  // namespace syrinx
