#include "engine/policy.h"

#include <algorithm>

namespace syrinx {
namespace {

/// Smaller is sooner: first everyone still waiting for audio, in order of arrival, then whoever
/// runs dry first.
template <typename View>
bool sooner(const View& a, const View& b) {
  if (a.started != b.started) return !a.started;
  if (a.started && a.slack_s != b.slack_s) return a.slack_s < b.slack_s;
  return a.order < b.order;
}

/// Takes the link of the most urgent chunk and fills the batch with that link's chunks.
void plan_chunks(Snapshot& snapshot, Plan& plan) {
  std::sort(snapshot.chunks.begin(), snapshot.chunks.end(), sooner<ChunkView>);
  plan.kind = Plan::kChunks;
  plan.link = snapshot.chunks.front().link;
  for (const ChunkView& chunk : snapshot.chunks) {
    if (static_cast<int>(plan.chunk_slots.size()) == snapshot.max_batch) break;
    if (chunk.link == plan.link) plan.chunk_slots.push_back(chunk.slot);
  }
}

bool decoding(const SequenceView& seq) { return seq.kv_len > 0 && seq.rows_due == 1; }

/// Pages that a sequence still needs for all of its due rows. A prompt gets its pages at once, so
/// that two half-run prompts can never block each other.
int pages_wanted(const SequenceView& seq, int page_rows) {
  return std::max(0, (seq.kv_len + seq.rows_due + page_rows - 1) / page_rows - seq.pages_held);
}

/// Decodes and parts of prompts, most urgent first, inside the limits of batch, rows and pages.
/// Pages for running decodes are set aside before any prompt may start: a request that was
/// preempted comes back only when those it made room for can go on.
void plan_steps(Snapshot& snapshot, Plan& plan) {
  std::sort(snapshot.sequences.begin(), snapshot.sequences.end(), sooner<SequenceView>);
  int prefill_left = snapshot.max_prefill_rows;
  int pages_left = snapshot.pages_free;
  int set_aside = 0;
  for (const SequenceView& seq : snapshot.sequences) {
    if (decoding(seq)) set_aside += pages_wanted(seq, snapshot.page_rows);
  }
  for (const SequenceView& seq : snapshot.sequences) {
    if (static_cast<int>(plan.sequences.size()) == snapshot.max_batch) break;
    const int pages = pages_wanted(seq, snapshot.page_rows);
    int rows = 1;
    if (decoding(seq)) {
      set_aside -= pages;
      if (pages > pages_left) continue;
    } else {
      rows = std::min(seq.rows_due, prefill_left);
      if (rows == 0 || pages > pages_left - set_aside) continue;
      prefill_left -= rows;
    }
    pages_left -= pages;
    plan.sequences.push_back({seq.slot, rows});
  }
  if (!plan.sequences.empty()) plan.kind = Plan::kAr;
}

}  // namespace

void plan_streaming(Snapshot& snapshot, Plan& plan) {
  plan.clear();
  const bool urgent =
      std::any_of(snapshot.chunks.begin(), snapshot.chunks.end(), [](const ChunkView& chunk) {
        return !chunk.started || chunk.full || chunk.slack_s < kChunkUrgent_s;
      });
  if (!urgent) plan_steps(snapshot, plan);
  if (plan.kind == Plan::kIdle && !snapshot.chunks.empty()) plan_chunks(snapshot, plan);
  if (plan.kind == Plan::kIdle) plan_steps(snapshot, plan);
}

}  // namespace syrinx
