#include "bench/simulated_engine.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "bench/arrivals.h"

namespace syrinx {
namespace {

// As in engine/scheduler.cc and engine/commit.cc.
constexpr double kHeadroom = 0.95, kLeastAudio_s = 20, kLeastPlaces = 8, kOverload = 0.005;
constexpr int kLearnEvery = 32;
constexpr double kNewMean = 0.02;
constexpr double kNever_s = std::numeric_limits<double>::infinity();

}  // namespace

SimulatedEngine::SimulatedEngine(const StepProfile& profile, const SimulationOptions& options,
                                 uint64_t seed)
    : profile_(profile),
      options_(options),
      policy_(find_policy(options.policy)),
      realtime_(options.policy == "streaming"),
      inline_run_(options.executors == 1 && !options.split),
      random_(seed),
      pages_free_(options.pages > 0 ? options.pages : profile.pages),
      chunk_costs_(profile.links.size()),
      first_chunk_(profile.links[0].policy.initial, profile.links[0].policy.steady) {
  if (policy_ == nullptr) throw LoadError("there is no policy '" + options.policy + "'");
  if (options.split) {
    places_.push_back({.steps = false, .chunks = true});
    places_.push_back({.steps = true, .chunks = true});
    sharing_.split = true;
  } else {
    places_.resize(options.executors);
    sharing_.executors = options.executors;
  }
  for (const LinkProfile& link : profile.links) {
    chunk_frames_.push_back(std::max(1, link.policy.steady));
  }
  totals_.resize(1 + profile.links.size());
  snapshot_.nodes.resize(1 + profile.links.size());
  snapshot_.nodes[0].ar = true;
  snapshot_.max_batch = options.max_batch;
  snapshot_.max_prefill_rows = options.max_prefill_rows;
  load_.places = options.max_requests;
}

// ---------------------------------------------------------------------------- arrivals

bool SimulatedEngine::submit(std::unique_ptr<SimulatedRequest> request, double now) {
  const double wait_s = predicted_wait_s(load_);
  if (unfinished() >= options_.max_requests) return false;
  if (wait_s > options_.max_wait_s && std::isfinite(wait_s)) return false;
  ++load_.waiting;
  request->submitted_s = now;
  prompts_free_s_ = std::max(prompts_free_s_, now) + request->utterance->open_s;
  for (const LinkProfile& link : profile_.links) request->lanes.emplace_back(link.policy, 1);
  request->fractions.resize(profile_.links.size());
  const double wake_s = unfinished() == 0 ? profile_.wake_s : 0;
  mail_.emplace_back(prompts_free_s_ + wake_s, std::move(request));
  return true;
}

void SimulatedEngine::take_mail(double now) {
  while (!mail_.empty() && mail_.front().first <= now) {
    mail_.front().second->id = next_id_++;
    waiting_.push_back(std::move(mail_.front().second));
    mail_.pop_front();
  }
}

double SimulatedEngine::places() const {
  if (!realtime_ || capacity_ <= 0 || audio_s_ < kLeastAudio_s) return options_.max_requests;
  return std::max(kLeastPlaces, std::min(kHeadroom * capacity_, place_limit_.places()));
}

Load SimulatedEngine::load() const {
  return {static_cast<int>(active_.size()), static_cast<int>(waiting_.size() + mail_.size()),
          places(),
          mean_audio_s_ > 0 ? std::min(capacity_, place_limit_.places()) / mean_audio_s_ : 0};
}

void SimulatedEngine::promote() {
  const double places_now = places();
  while (!waiting_.empty() && static_cast<double>(active_.size()) < places_now) {
    active_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

double SimulatedEngine::next_event_s() const {
  double next_s = kNever_s;
  for (const Place& place : places_) {
    if (!place.queue.empty()) next_s = std::min(next_s, place.queue.front().ends_s);
  }
  // An engine that runs batches on its own thread looks at its mail between them.
  if (inline_run_ && next_s < kNever_s) return next_s;
  if (!mail_.empty()) next_s = std::min(next_s, mail_.front().first);
  return next_s;
}

void SimulatedEngine::turn(double now) {
  for (Place& place : places_) {
    while (!place.queue.empty() && place.queue.front().ends_s <= now) {
      SimulatedBatch batch = std::move(place.queue.front());
      place.queue.pop_front();
      commit(batch, now);
    }
  }
  take_mail(now);
  std::erase_if(active_, [](const auto& r) { return r->ended && !r->in_flight(); });
  promote();
  load_ = load();
  while (!dispatch(now) && in_flight_ == 0 && !snapshot_.sequences.empty() && make_room()) {
  }
}

// ---------------------------------------------------------------------------- plan

bool SimulatedEngine::dispatch(double now) {
  bool any = false;
  const size_t room = inline_run_ ? 1 : 2;
  for (Place& place : places_) {
    while (place.queue.size() < room && fill(place, now)) any = true;
  }
  return any;
}

bool SimulatedEngine::fill(Place& place, double now) {
  look(place, now);
  if (snapshot_.sequences.empty() && snapshot_.chunks.empty()) return false;
  policy_(snapshot_, plan_);
  if (plan_.kind == Plan::kIdle) return false;
  SimulatedBatch batch;
  batch.step = plan_.kind == Plan::kAr;
  batch.link = plan_.node - 1;
  batch.step ? lay_out_step(batch) : lay_out_chunks(batch, now);
  const double overhead_s = profile_.batch_overhead_s +
                            profile_.sequence_overhead_s * static_cast<double>(batch.owners.size());
  // A shared executor and the planning take turns; with its own thread the planning goes ahead.
  const double begins_s = std::max(now + overhead_s, place.free_s);
  place.free_s = batch.ends_s = begins_s + batch.takes_s;
  ++in_flight_;
  place.queue.push_back(std::move(batch));
  return true;
}

void SimulatedEngine::look(const Place& place, double now) {
  snapshot_.sequences.clear();
  snapshot_.chunks.clear();
  snapshot_.nodes[0].here = place.steps;
  snapshot_.ahead = !place.queue.empty();
  snapshot_.nodes[0].steps_in_flight = steps_in_flight_;
  snapshot_.nodes[0].pages_free = pages_free_;
  snapshot_.nodes[0].cost = step_cost_.cost();
  for (size_t i = 0; i < chunk_costs_.size(); ++i) {
    snapshot_.nodes[i + 1].cost = chunk_costs_[i].cost();
  }
  for (size_t slot = 0; slot < active_.size(); ++slot) {
    if (!active_[slot]->ended) look_at(*active_[slot], static_cast<int>(slot), now);
  }
}

void SimulatedEngine::look_at(SimulatedRequest& request, int slot, double now) {
  const bool started = request.started();
  const double slack = started ? request.slack_s(now) : request.submitted_s - now;
  for (size_t link = 0; link < request.lanes.size(); ++link) {
    if (request.chunking >> link & 1) continue;
    const ChunkCut cut = next_cut(request, link, slack);
    if (cut.fresh == 0) continue;
    snapshot_.chunks.push_back({slot, static_cast<int>(link) + 1, request.id, cut.fresh,
                                cut.full || cut.last, started, slack});
  }
  if (!request.ar_open || request.stepping) return;
  SequenceView view;
  view.slot = slot;
  view.order = request.id;
  view.rows_due = request.rows_due();
  view.companion_due = request.companion_due();
  view.pages_wanted = pages_wanted(request);
  view.decoding = request.kv > 0 && view.rows_due == 1 && view.companion_due <= 1;
  view.started = started;
  view.slack_s = started ? slack + pipe_s(request) : slack;
  snapshot_.sequences.push_back(view);
}

int SimulatedEngine::pages_wanted(const SimulatedRequest& request) const {
  const auto pages = [&](int rows) { return (rows + profile_.page_rows - 1) / profile_.page_rows; };
  const int companion = request.guided() ? request.companion_kv + request.companion_due() : 0;
  return std::max(0, pages(request.kv + request.rows_due()) + pages(companion) - request.pages);
}

double SimulatedEngine::pipe_s(const SimulatedRequest& request) const {
  double samples = 0;
  for (size_t i = 0; i < request.lanes.size(); ++i) {
    const Lane<int32_t>& lane = request.lanes[i];
    const int64_t frames = lane.waiting() - (lane.closed() ? 0 : lane.policy().lookahead);
    samples +=
        static_cast<double>(std::max<int64_t>(0, frames)) * profile_.links[i].samples_per_frame;
  }
  return samples / profile_.sample_rate;
}

ChunkCut SimulatedEngine::next_cut(const SimulatedRequest& request, size_t link,
                                   double slack_s) const {
  const bool hurry = request.started() && late_share_ < kOverload &&
                     slack_s < urgent_slack_s(snapshot_.nodes, 0, options_.max_batch);
  return request.lanes[link].next(link == 0 ? first_chunk_.frames() : 0, hurry);
}

bool SimulatedEngine::make_room() {
  const auto oldest = std::min_element(
      snapshot_.sequences.begin(), snapshot_.sequences.end(),
      [](const SequenceView& a, const SequenceView& b) { return a.order < b.order; });
  for (size_t slot = active_.size(); slot-- > 0;) {
    if (active_[slot]->pages == 0 || static_cast<int>(slot) == oldest->slot) continue;
    drop_cache(*active_[slot]);
    return true;
  }
  return false;
}

void SimulatedEngine::drop_cache(SimulatedRequest& request) {
  pages_free_ += request.pages;
  request.pages = request.kv = request.companion_kv = 0;
}

// ---------------------------------------------------------------------------- batches

double SimulatedEngine::draw(const std::vector<double>& spread) {
  if (!options_.noise || spread.empty()) return 1;
  return spread[static_cast<size_t>(uniform(random_) * static_cast<double>(spread.size()))];
}

void SimulatedEngine::lay_out_step(SimulatedBatch& batch) {
  int decodes = 0, prompt_rows = 0;
  double kv = 0;
  const auto count = [&](int rows, int cached) {
    if (rows == 1 && cached > 0) {
      ++decodes;
      kv += cached;
    } else {
      prompt_rows += rows;
    }
  };
  for (const PlannedSequence& planned : plan_.sequences) {
    SimulatedRequest& request = *active_[planned.slot];
    const int wanted = pages_wanted(request);
    SYRINX_CHECK(wanted <= pages_free_, "a plan took more pages than there are");
    pages_free_ -= wanted;
    request.pages += wanted;
    request.stepping = true;
    ++steps_in_flight_;
    count(planned.rows, request.kv);
    if (planned.companion_rows > 0) count(planned.companion_rows, request.companion_kv);
    batch.units += planned.rows + planned.companion_rows;
    batch.owners.push_back(&request);
    batch.planned.push_back(planned);
  }
  batch.takes_s = profile_.step_s(decodes, decodes > 0 ? kv / decodes : 0, prompt_rows) *
                  draw(profile_.ar_spread);
}

void SimulatedEngine::lay_out_chunks(SimulatedBatch& batch, double now) {
  const auto link = static_cast<size_t>(plan_.node - 1);
  for (const int slot : plan_.chunk_slots) {
    SimulatedRequest& request = *active_[slot];
    const ChunkCut cut = next_cut(request, link, request.started() ? request.slack_s(now) : 0);
    request.lanes[link].take(cut);
    request.chunking |= 1u << link;
    batch.units += cut.fresh;
    batch.owners.push_back(&request);
    batch.cuts.push_back(cut);
  }
  const int jobs = static_cast<int>(batch.owners.size());
  batch.takes_s = profile_.chunks_s(link, jobs, static_cast<double>(batch.units) / jobs) *
                  draw(profile_.links[link].spread);
}

// ---------------------------------------------------------------------------- commit

void SimulatedEngine::commit(SimulatedBatch& batch, double now) {
  --in_flight_;
  const double chunks = chunk_rate_.per_second(now);
  late_share_ = chunks > 0 ? late_rate_.per_second(now) / chunks : 0;
  place_limit_.observe(busy_s_ / static_cast<double>(places_.size()),
                       static_cast<int>(active_.size()), now);
  (batch.step ? step_cost_ : chunk_costs_[batch.link]).sample(batch.units, batch.takes_s);
  totals_[batch.step ? 0 : batch.link + 1] += batch.units;
  busy_s_ += batch.takes_s;
  for (size_t i = 0; i < batch.owners.size(); ++i) {
    SimulatedRequest& request = *batch.owners[i];
    if (batch.step) {
      request.stepping = false;
      --steps_in_flight_;
      commit_rows(request, batch.planned[i]);
      close_lanes(request, now);
    } else {
      request.chunking &= ~(1u << batch.link);
      commit_chunk(request, batch.link, batch.cuts[i].fresh, now);
    }
  }
  if (++commits_ % kLearnEvery == 0) learn_capacity();
}

/// Frames of a segment come evenly from first_frame_step to its last step.
void SimulatedEngine::commit_rows(SimulatedRequest& request, const PlannedSequence& ran) {
  const bool emits =
      ran.rows == request.rows_due() && ran.companion_rows == request.companion_due();
  request.kv += ran.rows;
  request.companion_kv += ran.companion_rows;
  if (!emits) return;
  const SegmentProfile& segment = request.now();
  ++request.steps;
  int64_t given = 0;
  if (request.steps >= segment.steps) {
    given = segment.frames;
  } else if (request.steps >= segment.first_frame_step && segment.frames > 0) {
    const int64_t since = request.steps - segment.first_frame_step;
    const int64_t span = std::max(1, segment.steps - segment.first_frame_step);
    given = 1 + since * (segment.frames - 1) / span;
  }
  auto& lane = request.lanes[0].input();
  lane.insert(lane.end(), given - request.segment_frames, 0);
  request.segment_frames = given;
  if (request.steps < segment.steps) return;
  drop_cache(request);
  request.steps = 0;
  request.segment_frames = 0;
  if (++request.segment < request.utterance->segments.size()) return;
  --request.segment;
  request.ar_open = false;
  request.lanes[0].close();
}

void SimulatedEngine::commit_chunk(SimulatedRequest& request, size_t link, int fresh, double now) {
  const double samples = fresh * profile_.links[link].samples_per_frame;
  if (link + 1 < request.lanes.size()) {
    double& frames = request.fractions[link];
    frames += samples / profile_.links[link + 1].samples_per_frame;
    const auto whole = static_cast<int64_t>(frames + 1e-6);
    frames -= static_cast<double>(whole);
    auto& next = request.lanes[link + 1].input();
    next.insert(next.end(), whole, 0);
  } else {
    const double seconds = samples / profile_.sample_rate;
    const double slack = request.slack_s(now);
    if (request.chunks_delivered == 0) {
      request.playing_since_s = now;
    } else {
      if (request.chunks_delivered == 1) first_chunk_.second_chunk(slack, request.audio_s);
      chunk_rate_.add(1, now);
      place_limit_.chunk(slack < 0);
      if (slack < 0) {
        late_rate_.add(1, now);
        request.playing_since_s -= slack;
      }
    }
    ++request.chunks_delivered;
    request.audio_s += seconds;
    audio_s_ += seconds;
    const double heard_s = now + options_.delivery_s - request.due_s;
    if (!request.record.first_audio_s) {
      request.record.first_byte_s = request.record.first_audio_s = heard_s;
    }
    request.heard.arrive(heard_s, seconds);
  }
  close_lanes(request, now);
}

void SimulatedEngine::close_lanes(SimulatedRequest& request, double now) {
  for (size_t link = 0; link < request.lanes.size(); ++link) {
    if (!request.lanes[link].exhausted() || (request.chunking >> link & 1)) return;
    if (link + 1 < request.lanes.size()) request.lanes[link + 1].close();
  }
  finish(request, now);
}

void SimulatedEngine::learn_capacity() {
  if (audio_s_ <= 0) return;
  std::vector<NodeWork> work = {{step_cost_.cost(), true, totals_[0] / audio_s_}};
  for (size_t i = 0; i < chunk_costs_.size(); ++i) {
    work.push_back({chunk_costs_[i].cost(), false, totals_[i + 1] / audio_s_, chunk_frames_[i]});
  }
  const double capacity = stream_capacity(work, options_.max_batch, sharing_);
  capacity_ = std::isfinite(capacity) ? capacity : 0;
}

void SimulatedEngine::finish(SimulatedRequest& request, double now) {
  if (request.ended) return;
  request.ended = true;
  drop_cache(request);
  const double weight = mean_audio_s_ > 0 ? kNewMean : 1;
  mean_audio_s_ += weight * (request.audio_s - mean_audio_s_);
  request.record.playback = request.heard.figures();
  request.record.total_s = now + options_.delivery_s - request.due_s;
  request.done(now);
}

}  // namespace syrinx
