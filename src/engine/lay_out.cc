// Plans become batches.
#include <algorithm>

#include "base/check.h"
#include "engine/scheduler.h"

namespace syrinx {

/// Where the stage is away, so are the pages: what is to be copied waits for the next batch.
void Scheduler::reserve(ResidentNode& node, KvHold& hold, int rows) {
  std::vector<PageCopy>& copies = node.away ? node.copies : copies_;
  if (!node.away) copies.clear();
  SYRINX_CHECK(node.cache->reserve(hold, rows, copies), "a plan took more pages than there are");
  if (node.away) return;
  for (const PageCopy& copy : copies) {
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
  batch.cache_pages = node.cache->total();
  batch.copies.swap(node.copies);  // what was there is of an earlier batch, and empty
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
