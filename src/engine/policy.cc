#include "engine/policy.h"

#include <algorithm>
#include <array>
#include <limits>

namespace syrinx {
namespace {

constexpr int kTypicalChunkFrames = 4;  // of a relaxed chunk, to guess what a batch of them costs

// ---------------------------------------------------------------------------- limits

/// Fills an AR plan within batch, prefill rows and pages. Pages for running decodes are set aside
/// before any prompt may start: a request that was preempted comes back only when those it made
/// room for can go on. A prompt gets all of its pages at once, so that two half-run prompts can
/// never block each other.
class StepFiller {
 public:
  StepFiller(const Snapshot& snapshot, Plan& plan)
      : plan_(plan),
        places_(snapshot.max_batch),
        prefill_(snapshot.max_prefill_rows),
        pages_(snapshot.pages_free) {
    for (const SequenceView& seq : snapshot.sequences) {
      if (seq.decoding) set_aside_ += seq.pages_wanted;
    }
  }

  bool full() const { return places_ <= 0; }
  int rows() const { return rows_; }

  /// Adds the sequence, or a part of its prompt, when there is room for it.
  bool add(const SequenceView& seq) {
    const int places = seq.companion_due > 0 ? 2 : 1;
    if (places > places_) return false;
    PlannedSequence planned{seq.slot, seq.rows_due, seq.companion_due};
    if (seq.decoding) {
      if (seq.pages_wanted > pages_) return false;
      set_aside_ -= seq.pages_wanted;
    } else {
      if (seq.pages_wanted > pages_ - set_aside_ || !shorten(planned)) return false;
      prefill_ -= planned.rows + planned.companion_rows;
    }
    places_ -= places;
    pages_ -= seq.pages_wanted;
    rows_ += planned.rows + planned.companion_rows;
    plan_.sequences.push_back(planned);
    plan_.kind = Plan::kAr;
    return true;
  }

 private:
  /// Cuts a prompt to the rows that are left. The last rows of a pair run in the same batch,
  /// because both are needed to take a step: so a part is always without them.
  bool shorten(PlannedSequence& planned) const {
    const int due = planned.rows + planned.companion_rows;
    if (due <= prefill_) return true;
    if (planned.companion_rows == 0) {
      planned.rows = std::min(planned.rows, prefill_);
      return planned.rows > 0;
    }
    planned.rows = std::min(planned.rows - 1, prefill_);
    planned.companion_rows = std::min(planned.companion_rows - 1, prefill_ - planned.rows);
    return planned.rows + planned.companion_rows > 0;
  }

  Plan& plan_;
  int places_, prefill_, pages_;
  int set_aside_ = 0, rows_ = 0;
};

/// Chunks of one link, in the order of the list, as far as the batch and its time go.
void take_chunks(const Snapshot& snapshot, int link, Plan& plan,
                 double longest_s = std::numeric_limits<double>::infinity()) {
  plan.kind = Plan::kChunks;
  plan.link = link;
  int frames = 0;
  for (const ChunkView& chunk : snapshot.chunks) {
    if (static_cast<int>(plan.chunk_slots.size()) == snapshot.max_batch) break;
    if (chunk.link != link) continue;
    frames += chunk.frames;
    if (!plan.chunk_slots.empty() && snapshot.costs.links[link].of(frames) > longest_s) break;
    plan.chunk_slots.push_back(chunk.slot);
  }
}

void take_steps(const Snapshot& snapshot, Plan& plan) {
  StepFiller filler(snapshot, plan);
  for (const SequenceView& seq : snapshot.sequences) {
    if (filler.full()) break;
    filler.add(seq);
  }
}

/// The link with the most chunks waiting.
int fullest_link(const Snapshot& snapshot) {
  std::array<int, 8> count{};
  for (const ChunkView& chunk : snapshot.chunks) ++count[chunk.link % count.size()];
  return static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
}

int count_full(const Snapshot& snapshot) {
  return static_cast<int>(std::count_if(snapshot.chunks.begin(), snapshot.chunks.end(),
                                        [](const ChunkView& chunk) { return chunk.full; }));
}

/// The largest batch of either stage. A batch of chunks lasts at most `longest_s`.
void plan_largest(Snapshot& snapshot, Plan& plan, double longest_s) {
  plan.clear();
  const bool steps = snapshot.may_step && !snapshot.sequences.empty();
  const bool chunks = snapshot.may_chunk && !snapshot.chunks.empty();
  // Chunks wait for company as long as steps can be taken or come back soon; full ones gain nothing
  // by waiting, and neither does a batch that is full.
  const int waiting = static_cast<int>(snapshot.chunks.size());
  const int runnable = static_cast<int>(snapshot.sequences.size()) + snapshot.steps_in_flight;
  const bool batch_full = waiting >= snapshot.max_batch || 2 * count_full(snapshot) > runnable;
  const bool steps_come = snapshot.steps_in_flight > 0 || (!snapshot.may_step && runnable > 0);
  if (chunks && batch_full) return take_chunks(snapshot, fullest_link(snapshot), plan, longest_s);
  if (steps) {
    const bool whole = static_cast<int>(snapshot.sequences.size()) >= snapshot.max_batch;
    if (!snapshot.ahead || whole) take_steps(snapshot, plan);
    if (plan.kind != Plan::kIdle) return;
  }
  if (chunks && !snapshot.ahead && (!snapshot.may_step || !steps_come)) {
    take_chunks(snapshot, fullest_link(snapshot), plan, longest_s);
  }
}

// ---------------------------------------------------------------------------- streaming

/// How much a unit of work is wanted: class 0 is urgent, 1 waits for first audio, 2 is ahead of its
/// listener; within a class the smaller key is sooner.
struct Rank {
  int tier = 2;
  double key = 0;
  bool operator<(const Rank& other) const {
    return tier != other.tier ? tier < other.tier : key < other.key;
  }
};

struct Ranking {
  double urgent_s = 0;

  template <typename View>
  Rank of(const View& view) const {
    if (!view.started) {
      const double left_s = kStreamingRules.patience_s + view.slack_s;
      if (left_s < 0) return {0, left_s};
      return {1, static_cast<double>(view.order)};
    }
    return {view.slack_s < urgent_s ? 0 : 2, view.slack_s};
  }
};

template <typename View>
void sort_by_rank(std::vector<View>& views, const Ranking& ranking) {
  std::sort(views.begin(), views.end(), [&](const View& a, const View& b) {
    const Rank left = ranking.of(a), right = ranking.of(b);
    return left < right || (!(right < left) && a.order < b.order);
  });
}

/// Urgent and waiting ones first; the relaxed fill up as long as they lengthen the batch little.
void fill_steps(const Snapshot& snapshot, const Ranking& ranking, Plan& plan) {
  StepFiller filler(snapshot, plan);
  auto seq = snapshot.sequences.begin();
  const auto end = snapshot.sequences.end();
  for (; seq != end && ranking.of(*seq).tier < 2; ++seq) filler.add(*seq);
  if (filler.rows() == 0) return;
  const StageCost& cost = snapshot.costs.ar;
  const double longest_s = (1 + kStreamingRules.fill) * cost.of(filler.rows());
  for (; seq != end && !filler.full(); ++seq) {
    if (cost.of(filler.rows() + seq->rows_due + seq->companion_due) > longest_s) break;
    filler.add(*seq);
  }
}

}  // namespace

double urgent_slack_s(const CostModel& costs, int max_batch) {
  double work_s = costs.ar.of(max_batch);
  for (const StageCost& link : costs.links) {
    work_s += std::min(link.of(max_batch * kTypicalChunkFrames), kStreamingRules.longest_chunks_s);
  }
  return work_s + kStreamingRules.margin_s;
}

void plan_streaming(Snapshot& snapshot, Plan& plan) {
  plan.clear();
  const Ranking ranking{urgent_slack_s(snapshot.costs, snapshot.max_batch)};
  const bool steps = snapshot.may_step && !snapshot.sequences.empty();
  const bool chunks = snapshot.may_chunk && !snapshot.chunks.empty();
  if (steps) sort_by_rank(snapshot.sequences, ranking);
  if (chunks) sort_by_rank(snapshot.chunks, ranking);
  const Rank nothing{3, 0};
  const Rank step = steps ? ranking.of(snapshot.sequences.front()) : nothing;
  const Rank chunk = chunks ? ranking.of(snapshot.chunks.front()) : nothing;

  // Of equal tiers chunks go first: they are what becomes audible.
  if (chunk.tier <= 1 && chunk.tier <= step.tier) {
    return take_chunks(snapshot, snapshot.chunks.front().link, plan,
                       kStreamingRules.longest_chunks_s);
  }
  if (step.tier <= 1) {
    fill_steps(snapshot, ranking, plan);
    if (plan.kind != Plan::kIdle) return;
  }
  plan_largest(snapshot, plan, kStreamingRules.longest_chunks_s);
}

// ---------------------------------------------------------------------------- the others

void plan_throughput(Snapshot& snapshot, Plan& plan) {
  plan_largest(snapshot, plan, std::numeric_limits<double>::infinity());
}
void plan_fcfs(Snapshot& snapshot, Plan& plan) {
  plan.clear();
  if (snapshot.may_chunk && !snapshot.chunks.empty()) {
    return take_chunks(snapshot, snapshot.chunks.front().link, plan);
  }
  if (snapshot.may_step && !snapshot.ahead) take_steps(snapshot, plan);
}

namespace {
constexpr NamedPolicy kPolicies[] = {
    {"streaming", plan_streaming}, {"throughput", plan_throughput}, {"fcfs", plan_fcfs}};
}

std::span<const NamedPolicy> policies() { return kPolicies; }

Policy find_policy(std::string_view name) {
  for (const NamedPolicy& policy : kPolicies) {
    if (policy.name == name) return policy.plan;
  }
  return nullptr;
}

}  // namespace syrinx
