#include "engine/scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kLeastPlaces = 8;
/// Of the capacity that was learned, what is given away.
constexpr double kHeadroom = 0.95;
constexpr double kLeastMade_s = 20;  // output before the capacity counts as learned
/// How often a request paused by its reader is looked at again.
constexpr double kPausedPoll_s = 0.01;
/// A batch of requests in the background is kept as short as this, so that others need not wait;
constexpr double kLongestBackground_s = 0.02;
/// or, where one row takes as long, so little longer than that row: of a large model a row hardly
/// costs more than none, and a prompt would else be run row by row.
constexpr double kBackgroundStretch = 1.25;
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
/// place of their own, so that the long steps of one do not stand in the way of another's. So do
/// those that are away, always: their steps are to run in the order in which they were laid out.
void Scheduler::settle_nodes() {
  spots_.clear();
  int homes = 0, away_homes = 0;
  const int here = spec_.here(), away = static_cast<int>(places_.size()) - here;
  for (size_t m = 0; m < models_.size(); ++m) {
    ResidentModel& model = *models_[m];
    model.number = static_cast<int>(m);
    model.first_node = static_cast<int>(spots_.size());
    for (size_t n = 0; n < model.nodes.size(); ++n) {
      spots_.push_back({&model, static_cast<int>(n)});
      if (model.nodes[n].ar) {
        ResidentNode& node = model.nodes[n];
        node.place = node.away ? here + away_homes++ % std::max(1, away)
                               : (2 * here - 1 - homes++ % here) % here;
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
  if (node.away != place.away) return false;
  return spec_.split || node.away ? node.place == place.index : place.steps;
}

bool Scheduler::may_run(const Place& place, const ResidentNode& node) const {
  return node.ar ? may_step(place, node) : node.away == place.away;
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
    const double promised_s = request->promised_s;
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
      fresh.alone = active_.size() == 1;
      for (const auto& other : active_) other->alone = other->alone && active_.size() == 1;
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
      if (place.away != away) continue;
      while (!place.free.empty() && fill(place)) {
        any = true;
        if (spec_.inline_run && !away) return true;  // it has run; the mail comes first
      }
      const bool idle = place.free.size() == place.batches.size();
      if (idle && make_room(place)) return true;  // to be planned anew
    }
  }
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
    const double takes_s = spot.model->nodes[spot.node].cost.cost().of(batch.units());
    place.until_s = std::max(place.until_s, began_s) + takes_s;
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
    if (!background_time_.may(now)) views.clear();
    const double patience_s = patience_of_listeners(now);
    double longest_s = kLongestBackground_s;
    for (const SequenceView& view : views.sequences) {
      longest_s = std::max(longest_s, kBackgroundStretch * snapshot_.nodes[view.node].cost.of(1));
    }
    snapshot_.longest_s = std::min(longest_s, patience_s);
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
      for (const HeldRows& track : run->tracks) held += static_cast<int>(track.cache.pages.size());
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

}  // namespace syrinx
