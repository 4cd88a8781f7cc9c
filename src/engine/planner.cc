#include "engine/planner.h"

#include <algorithm>
#include <limits>

namespace syrinx {
namespace {

/// Longest batch of requests in the background. It is short, so that live requests wait little.
constexpr double kLongestBackground_s = 0.02;
/// Longest background batch as a multiple of the time of one row. The larger of this value and
/// kLongestBackground_s counts. In a large model, one row takes nearly as long as many rows, so a
/// prompt would otherwise run row by row. With 2, it runs at half of its speed or faster, because
/// half of a batch's time is spent on rows.
constexpr double kBackgroundStretch = 2;
/// If more chunks than this share are late, chunks are not made smaller: that would add load.
constexpr double kOverload = 0.005;
/// The guesses of one sequence may use 1/16 of the free pages.
constexpr int kShareForDrafts = 16;
constexpr double kNever_s = std::numeric_limits<double>::infinity();

Policy checked_policy(const std::string& name) {
  const Policy policy = find_policy(name);
  if (!policy)
    throw LoadError("unknown policy '" + name + "': expected streaming, throughput or fcfs");
  return policy;
}

/// Returns whether an edge that leaves the node is full. A node with a full edge is not planned,
/// unless the node behind the edge needs more frames than the edge holds.
bool waits_for_room(Active& request, int node) {
  const Graph& graph = request.model->graph();
  for (const int e : graph.leaving(node)) {
    const Edge& edge = graph.edges()[e];
    if (edge.to.node == kClient) continue;
    NodeRun& next = request.runs[edge.to.node];
    if (next.may_go_on() && next.waiting() >= edge.window) return true;
  }
  return false;
}

}  // namespace

Planner::Planner(const EngineOptions& options, const ExecutorSlots& slots, Roster& roster,
                 MachineLoad& load)
    : options_(options),
      slots_(slots),
      roster_(roster),
      load_(load),
      policy_(checked_policy(options.policy)) {
  snapshot_.max_batch = options.max_batch;
}

bool Planner::plan(const ExecutorSlot& slot, double now) {
  take_snapshot(slot, now);
  plan_.clear();
  take_from_background(rivals(), snapshot_);
  snapshot_.longest_s = kNever_s;
  if (ask_policy(views_[kLive])) return true;
  // Starts no background batch after a running batch, because a live request may arrive first.
  if (views_[kBackground].empty() || snapshot_.ahead) return false;
  plan_.clear();
  restrain_background(now);
  plan_.background = ask_policy(views_[kBackground]);
  return plan_.background;
}

bool Planner::ask_policy(Views& views) {
  if (views.empty()) return false;
  snapshot_.sequences.swap(views.sequences);
  snapshot_.chunks.swap(views.chunks);
  policy_(snapshot_, plan_);
  snapshot_.sequences.swap(views.sequences);
  snapshot_.chunks.swap(views.chunks);
  return plan_.kind != Plan::kIdle;
}

/// Removes the views of requests in the background that may not run now.
void Planner::restrain_background(double now) {
  Views& views = views_[kBackground];
  const auto row_s = [&](int node) { return snapshot_.nodes[node].cost.of(1); };
  if (!load_.background_may(now)) views.clear();
  const double patience_s = patience_of_listeners(now);
  double longest_s = kLongestBackground_s;
  for (const SequenceView& view : views.sequences) {
    longest_s = std::max(longest_s, kBackgroundStretch * row_s(view.node));
  }
  snapshot_.longest_s = std::min(longest_s, patience_s);
  const std::vector<SequenceView>& stuck = views_[kLive].sequences;  // live requests without pages
  std::erase_if(views.sequences, [&](const SequenceView& view) {
    return row_s(view.node) > patience_s ||
           std::ranges::find(stuck, view.node, &SequenceView::node) != stuck.end();
  });
  bound_background(rivals());
  std::erase_if(views.chunks, [&](const ChunkView& view) {
    return snapshot_.nodes[view.node].cost.of(view.frames) > patience_s;
  });
  left_out_ = left_out_ || views.empty();
}

/// Returns the seconds that an executor may be busy before a listener runs dry.
double Planner::patience_of_listeners(double now) const {
  double slack_s = kNever_s;
  for (const auto& request : roster_.requests()) {
    const Output& client = request->output;
    if (!client.open() || client.background() || client.unread() || !client.heard()) continue;
    slack_s = std::min(slack_s, request->slack_s(now));
  }
  return slack_s - kStreamingRules.margin_s;
}

// ---------------------------------------------------------------------------- snapshot

void Planner::take_snapshot(const ExecutorSlot& slot, double now) {
  for (Views& views : views_) views.clear();
  left_out_ = false;
  look_at_nodes(slot, now);
  const Roster::Requests& requests = roster_.requests();
  for (size_t i = 0; i < requests.size(); ++i) {
    Active& request = *requests[i];
    if (!request.promoted || !request.live()) continue;
    Views& views = views_[request.background() ? kBackground : kLive];
    const size_t sequences = views.sequences.size(), chunks = views.chunks.size();
    roster_.guarded(request, [&] { look_at(request, static_cast<int>(i), now, views); });
    if (request.live()) continue;
    views.sequences.resize(sequences), views.chunks.resize(chunks);  // the request failed
  }
  let_oldest_first(rivals());
  for (ResidentModel* model : slots_.models()) publish_pages(*model);
  for (size_t n = 0; n < snapshot_.nodes.size(); ++n) {
    const ResidentNode& node = slots_.nodes()[n].get();
    if (node.ar) snapshot_.nodes[n].pages_free = node.pages->available();
  }
}

void Planner::look_at_nodes(const ExecutorSlot& slot, double now) {
  snapshot_.nodes.clear();
  snapshot_.ahead = !slot.idle();
  snapshot_.busy_s = snapshot_.ahead ? std::max(0.0, slot.until_s - now) : 0;
  for (const NodeRef& ref : slots_.nodes()) {
    const ResidentNode& node = ref.get();
    const bool mine = slots_.runs(slot, node);
    // No batch may wait in a slot behind a batch of another model, whose steps may be long.
    const bool taken = snapshot_.ahead && slot.running != ref.model;
    snapshot_.nodes.push_back(
        {.model = ref.model->number,
         .ar = node.ar != nullptr,
         .here = mine && !taken,
         .next = mine && taken,
         .cost = node.cost.cost(),
         .prefill_rows = node.ar ? prefill_rows_for(node.ar->device(), options_) : 0,
         .pages_free = 0,
         .steps_in_flight = node.steps_in_flight});
  }
}

void Planner::look_at(Active& request, int slot, double now, Views& views) {
  const ResidentModel& model = *request.model;
  Output& client = request.output;
  client.look_at_reader(now);
  if (client.unread()) {
    left_out_ = true;
    return;
  }
  const int nodes = static_cast<int>(request.runs.size());
  const double slack = client.heard() ? client.listener().slack_s(now) : -client.waited_s(now);
  for (int n = 0; n < nodes; ++n) {
    NodeRun& run = request.runs[n];
    if (run.chunk && !run.chunk->running && !run.ended)
      run.chunk->cut = next_cut(request, n, slack);
  }
  for (int n = 0; n < nodes; ++n) {
    const ChunkRun* run = request.runs[n].chunk.get();
    if (!run || run->running || request.runs[n].ended || run->cut.fresh == 0) continue;
    if (waits_for_room(request, n)) continue;
    views.chunks.push_back({slot, model.first_node + n, run->cut.fresh,
                            run->cut.full || run->cut.last, client.heard(), slack});
  }
  for (int n = 0; n < nodes; ++n) {
    const ArRun* run = request.runs[n].ar.get();
    if (!run || !run->open || run->drains || run->remote() || waits_for_room(request, n)) continue;
    look_at_steps(request, n, slot, now, views);
  }
}

void Planner::look_at_steps(Active& request, int n, int slot, double now, Views& views) {
  ArRun& run = *request.runs[n].ar;
  const ResidentModel& model = *request.model;
  const ResidentNode& node = model.nodes[n];
  const Output& client = request.output;
  if (run.due().none()) {
    // Only the node that reads the client's text waits for the client. Other nodes wait for nodes.
    if (n == model.graph().reader()) request.output.starve(true);
    return;
  }
  share_prefix(request, n);
  const Due due = run.due();
  if (due.none()) return;  // the sequence shares all of its known rows
  const KvHold& cache = run.tracks[0].cache;
  SequenceView view;
  view.slot = slot;
  view.node = model.first_node + n;
  view.rows_due = due.rows;
  view.companion_due = due.companion_rows;
  view.pages_wanted = node.pages->wanted(run, due);
  view.begun = cache.rows > 0;
  look_at_draft(run, node, view);

  // If the node makes both audio and text, the output that runs dry first counts.
  const bool writes = model.graph().writer() == n, speaks = request.speaks();
  view.started = (!speaks || client.heard()) && (!writes || client.read());
  view.reads = writes && !speaks;
  view.slack_s = -client.waited_s(now);
  if (view.started) {
    view.slack_s = speaks ? request.slack_s(now) : kNever_s;
    if (writes) view.slack_s = std::min(view.slack_s, client.reader().slack_s(now));
  }
  views.sequences.push_back(view);
}

void Planner::share_prefix(Active& request, int n) const {
  ArRun& run = *request.runs[n].ar;
  const int found = request.model->nodes[n].pages->share_prefix(run);
  if (found < 0) return;
  request.model->metrics.prefix_rows.add(found);
  if (request.model->graph().writer() != n || run.total_steps > 0) return;
  request.output.outcome().cached_tokens = found;
  request.output.outcome().cached_heard_tokens = run.sequence->heard_rows(found);
}

/// Sets the number of guesses that may run after the due rows.
void Planner::look_at_draft(const ArRun& run, const ResidentNode& node, SequenceView& view) const {
  if (!options_.drafts || !node.ar->traits().drafts || !run.sequence->ready() || run.guided) return;
  int guesses = static_cast<int>(run.sequence->draft().size());
  guesses = std::min(guesses, run.sequence->max_steps() - run.steps - 1);
  const int wanted = node.pages->wanted(run, {view.rows_due, 0}, guesses);
  // When pages are few, guesses may use only pages that the sequence already holds.
  if (wanted > view.pages_wanted && wanted > node.pages->available() / kShareForDrafts) return;
  view.pages_wanted = wanted;
  view.drafts = std::max(0, guesses);
  view.draft_odds = run.draft_odds;
}

ChunkCut Planner::next_cut(Active& request, int n, double slack_s) const {
  const ResidentModel& model = *request.model;
  const bool hurry = request.output.heard() && model.load.late_share() < kOverload &&
                     slack_s < urgent_slack_s(snapshot_.nodes, model.number, options_.max_batch);
  int first = 0;
  if (n == model.first_link) {
    // A chunk is never larger than the edge's window. Otherwise the producer would wait for the
    // chunk, and the chunk would wait for more frames.
    const Edge& edge = model.graph().feeding(n);
    const int64_t most = edge.window - edge.policy.lookahead - edge.policy.multiple + 1;
    first = request.output.first_frames();
    if (first <= 0) first = model.nodes[n].first_chunk.frames();
    first = static_cast<int>(std::min<int64_t>(first, most));
  }
  ChunkRun& run = *request.runs[n].chunk;
  const Frames frames = run.lane.frames();
  const WaitingFrames waiting{frames.ints, frames.floats, run.lane.closed()};
  const int fresh = run.lane.next(first, hurry).fresh;
  return run.lane.with_fresh(model.nodes[n].chunk->cut(*run.stream, waiting, fresh));
}

}  // namespace syrinx
