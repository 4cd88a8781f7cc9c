// What could be run now: the views of the requests that a plan is made of.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/scheduler.h"

namespace syrinx {
namespace {

/// A share of late chunks past which smaller chunks would only add to the load.
constexpr double kOverload = 0.005;
/// Of the pages that are free, guesses of one sequence may take the this-th part.
constexpr int kShareForDrafts = 16;
constexpr double kNever_s = std::numeric_limits<double>::infinity();

}  // namespace

void Scheduler::look(const Place& place, double now) {
  for (Views& views : views_) views.clear();
  snapshot_.nodes.clear();
  snapshot_.ahead = place.free.size() < place.batches.size();
  snapshot_.busy_s = snapshot_.ahead ? std::max(0.0, place.until_s - now) : 0;
  for (const Spot& spot : spots_) {
    const ResidentNode& node = spot.model->nodes[spot.node];
    const bool mine = may_run(place, node);
    // Nobody waits on an executor behind a batch of another model, whose steps may be long.
    const bool taken = snapshot_.ahead && place.running != spot.model;
    snapshot_.nodes.push_back({.model = spot.model->number,
                               .ar = node.ar != nullptr,
                               .here = mine && !taken,
                               .next = mine && taken,
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
  let_older_first();
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
    const double most_s = model.options.max_unread_s;
    const bool has_some = request.heard() || request.tokens_read > 0;
    const double unread_s = has_some ? request.sink->unread_s() : 0;
    request.unread = unread_s > most_s;
    if (unread_s <= 0) return;
    // Nobody has played what was not taken.
    const double left_s = std::min({unread_s, most_s, request.outcome.audio_s});
    request.playing_since_s += std::max(0.0, left_s - request.slack_s(now));
  });
  if (!request.sink) return;
  if (request.unread) {
    request.text_since_s += std::max(0.0, -request.text_slack_s(now));
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
    if (!run || !run->open || run->drains || run->away() || waits_for_room(request, n)) continue;
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
    if (n == model.graph().reader()) request.starved = request.waited_for = true;
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
    view.slack_s = speaks ? audio_slack_s(request, now) : kNever_s;
    if (writes) view.slack_s = std::min(view.slack_s, request.text_slack_s(now));
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

}  // namespace syrinx
