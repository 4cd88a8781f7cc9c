#include "engine/batch_builder.h"

#include <algorithm>

namespace syrinx {
namespace {

/// Returns whether a tapped row before `end` was not yet passed to the node's edges.
bool wants_taps(const ArStage& ar, const ArRun& run, int end) {
  if (ar.traits().tap == 0) return false;
  for (int pos = std::max(run.tapped, run.tracks[0].cache.rows); pos < end; ++pos) {
    if (run.sequence->tapped(pos)) return true;
  }
  return false;
}

}  // namespace

void BatchBuilder::build(Plan& plan, Batch& batch, double now) {
  built_ = false;
  if (one_by_one_) plan.keep_first();
  const NodeRef& ref = slots_.nodes()[plan.node];
  batch.model = ref.model;
  batch.node = ref.node;
  batch.background = plan.background;
  plan.kind == Plan::kAr ? build_step(plan, batch, now) : build_chunks(plan, batch);
  built_ = true;
}

void BatchBuilder::build_step(const Plan& plan, Batch& batch, double now) {
  ResidentNode& node = batch.model->nodes[batch.node];
  size_t widest = 1;
  for (const PlannedSequence& planned : plan.sequences) {
    ArRun& run = *roster_.requests()[planned.slot]->runs[batch.node].ar;
    node.pages->reserve(run, run.due(), planned.drafts);
    for (const HeldRows& track : run.tracks) widest = std::max(widest, track.cache.pages.size());
  }
  const int64_t longest = KvPool::pages_for(node.ar->traits().max_positions);
  batch.warm_steps(max_batch_, static_cast<int>(std::min<int64_t>(longest, node.pages->total())));
  batch.begin_step(*node.ar, node.pages->pools(), static_cast<int>(widest));
  for (const PlannedSequence& planned : plan.sequences) add_sequence(planned, batch, now);
  batch.cache_pages = node.pages->total();
  node.pages->copy_pages(batch.copies);
}

void BatchBuilder::add_sequence(const PlannedSequence& planned, Batch& batch, double now) {
  Active& request = *roster_.requests()[planned.slot];
  ArRun& run = *request.runs[batch.node].ar;
  const KvHold &cache = run.tracks[0].cache, &companion = run.tracks[1].cache;
  const int companion_due = run.companion_due();
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
  seq.taps = wants_taps(batch.ar(), run, cache.rows + planned.rows);
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
  request.output.outcome().guessed_tokens += planned.drafts;
  request.model->metrics.drafted.add(planned.drafts);
  run.stepping = true;
  ++batch.model->nodes[batch.node].steps_in_flight;
  request.output.first_step(now);
}

void BatchBuilder::build_chunks(const Plan& plan, Batch& batch) {
  const int n = batch.node;
  const ResidentNode& node = batch.model->nodes[n];
  batch.warm_chunks(max_batch_, *node.chunk, node.policy);
  batch.begin_chunks(*node.chunk);
  for (const int slot : plan.chunk_slots) {
    Active& request = *roster_.requests()[slot];
    ChunkRun& run = *request.runs[n].chunk;
    batch.add(run.stream.get(), run.lane.window(run.cut), run.cut);
    batch.owners.push_back(&request);
  }
  batch.seal_chunks();
  for (const int slot : plan.chunk_slots) {  // from here on, nothing can fail
    ChunkRun& run = *roster_.requests()[slot]->runs[n].chunk;
    run.lane.take(run.cut);
    run.running = true;
  }
}

void BatchBuilder::give_up(const Plan& plan, Batch& batch, const std::string& why) {
  const auto for_each = [&](FunctionRef<void(Active&)> f) {
    for (const PlannedSequence& planned : plan.sequences) f(*roster_.requests()[planned.slot]);
    for (const int slot : plan.chunk_slots) f(*roster_.requests()[slot]);
  };
  for_each([&](Active& request) { request.leave_batch(batch.node); });
  batch.owners.clear();
  one_by_one_ = !built_ && plan.sequences.size() + plan.chunk_slots.size() > 1;
  if (one_by_one_) return;
  for_each([&](Active& request) { roster_.fail(request, {ErrorCode::kInternal, why}); });
}

}  // namespace syrinx
