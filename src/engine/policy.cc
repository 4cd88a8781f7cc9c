#include "engine/policy.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

namespace syrinx {
namespace {

constexpr int kTypicalChunkFrames = 4;  // assumed frames of a chunk in a full batch
constexpr double kForever_s = std::numeric_limits<double>::infinity();
/// The shortest time to which a batch is cut because of another model's deadlines.
constexpr double kLeastBatch_s = 0.005;

// ---------------------------------------------------------------------------- limits

/// Fills a plan for one AR node within the limits of entries, prefill rows, pages and time.
/// Reserves pages for begun sequences before a prompt may start. So a preempted request comes back
/// only when the others can continue. A prompt gets all of its pages together, so two partly run
/// prompts never block each other. Only copies of pages that it shares with its companion are taken
/// later.
class StepFiller {
 public:
  /// `longest_s`: longest time of the batch; the smallest possible batch may take longer.
  StepFiller(const Snapshot& snapshot, int node, double longest_s, Plan& plan)
      : plan_(plan),
        node_(node),
        entries_(snapshot.max_batch),
        prefill_(snapshot.nodes[node].prefill_rows),
        pages_(snapshot.nodes[node].pages_free) {
    longest_s = std::min(longest_s, snapshot.longest_s);
    if (longest_s < kForever_s) {
      const StageCost& cost = snapshot.nodes[node].cost;
      prefill_ = cost.within(longest_s, prefill_);
      entries_ = std::max(2, cost.within(longest_s, entries_));  // a guided pair needs two entries
    }
    for (const SequenceView& seq : snapshot.sequences) {
      if (seq.begun && seq.node == node) set_aside_ += seq.pages_wanted;
    }
  }

  bool full() const { return entries_ <= 0; }
  int entries() const { return entries_; }
  int rows() const { return rows_; }

  /// Adds the sequence, or a part of its prompt, if it belongs to the node and there is room.
  bool add(const SequenceView& seq) {
    const int entries = seq.companion_due > 0 ? 2 : 1;
    if (seq.node != node_ || entries > entries_) return false;
    PlannedSequence planned{seq.slot, seq.rows_due, seq.companion_due};
    const int mine = seq.begun ? pages_ : pages_ - set_aside_;
    if (seq.pages_wanted > mine || (!seq.decoding() && !shorten(planned))) return false;
    if (seq.begun) set_aside_ -= seq.pages_wanted;
    if (!seq.decoding()) prefill_ -= planned.rows + planned.companion_rows;
    entries_ -= entries;
    pages_ -= seq.pages_wanted;
    rows_ += planned.rows + planned.companion_rows;
    plan_.sequences.push_back(planned);
    plan_.kind = Plan::kAr;
    plan_.node = node_;
    return true;
  }

 private:
  /// Cuts a prompt to the prefill rows that are left. The last rows of a guided pair must run in
  /// the same batch, because a step needs both. So a cut prompt contains neither of them.
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
  int node_;
  int entries_, prefill_, pages_;
  int set_aside_ = 0, rows_ = 0;
};

/// Returns the seconds until the client's next output is late; a reader gets extra time.
double slack_of(const SequenceView& view) {
  return view.reads ? view.slack_s + kStreamingRules.patience_s : view.slack_s;
}
double slack_of(const ChunkView& view) { return view.slack_s; }

/// Returns the seconds that a batch of `model` may take before a started stream of another model
/// runs dry. Requests that only write text do not count.
double patience_of_others(const Snapshot& snapshot, int model) {
  double slack_s = kForever_s;
  const auto look = [&](const auto& views) {
    for (const auto& view : views) {
      if (view.started && snapshot.model_of(view.node) != model) {
        slack_s = std::min(slack_s, slack_of(view));
      }
    }
  };
  look(snapshot.sequences);
  look(snapshot.chunks);
  return std::max(kLeastBatch_s, slack_s - snapshot.busy_s - kStreamingRules.margin_s);
}

/// Plans chunks of one node, in the order of the list, within the batch's size and time.
void take_chunks(const Snapshot& snapshot, int node, Plan& plan, double longest_s = kForever_s) {
  plan.kind = Plan::kChunks;
  plan.node = node;
  longest_s = std::min(longest_s, snapshot.longest_s);
  int frames = 0;
  for (const ChunkView& chunk : snapshot.chunks) {
    if (static_cast<int>(plan.chunk_slots.size()) == snapshot.max_batch) break;
    if (chunk.node != node) continue;
    frames += chunk.frames;
    if (!plan.chunk_slots.empty() && snapshot.nodes[node].cost.of(frames) > longest_s) break;
    plan.chunk_slots.push_back(chunk.slot);
  }
}

/// Adds guesses of next steps to an otherwise complete plan. Stops when no entries are left, or
/// when a guess would save less than its row costs. A right guess saves one step: the cost of a
/// row, plus a share of the fixed cost of a batch.
void add_drafts(const Snapshot& snapshot, const StepFiller& filler, double longest_s, Plan& plan) {
  const bool any = std::any_of(snapshot.sequences.begin(), snapshot.sequences.end(),
                               [](const SequenceView& view) { return view.drafts > 0; });
  if (plan.sequences.empty() || !any) return;
  const StageCost& cost = snapshot.nodes[plan.node].cost;
  const double planned_s = cost.of(filler.rows());
  longest_s = std::min(longest_s, snapshot.longest_s);
  // Guesses of a single sequence delay no other one of this batch.
  if (plan.sequences.size() > 1) {
    longest_s = std::min(longest_s, (1 + kStreamingRules.drafts) * planned_s);
  }
  const double saved_s = cost.unit_s + cost.fixed_s / static_cast<double>(plan.sequences.size());
  int entries = filler.entries(), rows = filler.rows();
  for (PlannedSequence& planned : plan.sequences) {
    const auto view = std::find_if(
        snapshot.sequences.begin(), snapshot.sequences.end(),
        [&](const SequenceView& v) { return v.node == plan.node && v.slot == planned.slot; });
    if (planned.rows < view->rows_due) continue;  // guesses run only after the whole prompt
    double odds = view->draft_odds;
    while (planned.drafts < view->drafts && entries > 0 && odds * saved_s >= cost.unit_s &&
           cost.of(rows + 1) <= longest_s) {
      ++planned.drafts, ++rows, --entries;
      odds *= view->draft_odds;
    }
  }
}

void take_steps(const Snapshot& snapshot, int node, Plan& plan, double longest_s) {
  StepFiller filler(snapshot, node, longest_s, plan);
  for (const SequenceView& seq : snapshot.sequences) {
    if (filler.full()) break;
    filler.add(seq);
  }
  add_drafts(snapshot, filler, longest_s, plan);
}

/// Counts the views of each node.
void count_views(Snapshot& snapshot) {
  for (NodeView& node : snapshot.nodes) node.views = node.full_chunks = 0;
  for (const SequenceView& seq : snapshot.sequences) ++snapshot.nodes[seq.node].views;
  for (const ChunkView& chunk : snapshot.chunks) {
    ++snapshot.nodes[chunk.node].views;
    snapshot.nodes[chunk.node].full_chunks += chunk.full ? 1 : 0;
  }
}

/// Returns the node with the most views among the AR nodes, or among the chunk nodes, that the
/// executor runs. The first of several equal nodes wins. The node must have fewer views than
/// `below`, or the same number and a node number above `after`. Returns -1 if no node qualifies.
int fullest(const Snapshot& snapshot, bool ar, int below = std::numeric_limits<int>::max(),
            int after = -1) {
  int best = -1, most = 0;
  for (int n = 0; n < static_cast<int>(snapshot.nodes.size()); ++n) {
    const NodeView& node = snapshot.nodes[n];
    if (!node.here || node.ar != ar) continue;
    if (node.views > below || (node.views == below && n <= after)) continue;
    if (node.views > most) best = n, most = node.views;
  }
  return best;
}

/// The waiting work of a model, for the decision between steps and chunks.
struct Work {
  int chunks = 0, full_chunks = 0;
  int sequences = 0, in_flight = 0;
  bool may_step = false;  ///< this executor may step the model's AR nodes
};

Work work_of(const Snapshot& snapshot, int model) {
  Work work;
  for (const NodeView& node : snapshot.nodes) {
    if (node.model != model) continue;
    (node.ar ? work.sequences : work.chunks) += node.views;
    work.full_chunks += node.full_chunks;
    work.in_flight += node.steps_in_flight;
    work.may_step = work.may_step || (node.ar && node.here);
  }
  return work;
}

/// Plans the largest batch of any node. A batch of chunks takes at most `chunks_s`. With
/// `kind_to_others`, a batch of steps ends before a listener of another model runs dry.
void plan_largest(Snapshot& snapshot, Plan& plan, double chunks_s, bool kind_to_others) {
  plan.clear();
  count_views(snapshot);
  const int chunk_node = fullest(snapshot, false);
  Work work;
  if (chunk_node >= 0) {
    // Chunks wait for more chunks while steps can run or are running. Full chunks and full batches
    // do not wait, because they gain nothing.
    work = work_of(snapshot, snapshot.model_of(chunk_node));
    const int runnable = work.sequences + work.in_flight;
    if (work.chunks >= snapshot.max_batch || 2 * work.full_chunks > runnable) {
      return take_chunks(snapshot, chunk_node, plan, chunks_s);
    }
  }
  // If a node has too few pages for all of its sequences, the loop tries the next node.
  for (int node = fullest(snapshot, true); node >= 0;) {
    const int count = snapshot.nodes[node].views;
    if (!snapshot.ahead || count >= snapshot.max_batch) {
      const double longest_s =
          kind_to_others ? patience_of_others(snapshot, snapshot.model_of(node)) : kForever_s;
      take_steps(snapshot, node, plan, longest_s);
    }
    if (plan.kind != Plan::kIdle) return;
    node = fullest(snapshot, true, count, node);
  }
  if (chunk_node >= 0 && !snapshot.ahead && (!work.may_step || work.in_flight == 0)) {
    take_chunks(snapshot, chunk_node, plan, chunks_s);
  }
}

// ---------------------------------------------------------------------------- streaming

/// The rank of a unit of work. Tier 0 is urgent, tier 1 waits for its first audio, tier 2 has time
/// left. Within a tier, the smaller key comes first.
struct Rank {
  int tier = 2;
  double key = 0;
  bool operator<(const Rank& other) const {
    return tier != other.tier ? tier < other.tier : key < other.key;
  }
};

template <typename View>
Rank rank_of(const Snapshot& snapshot, const View& view) {
  if (!view.started) {
    const double left_s = kStreamingRules.patience_s + view.slack_s;
    // A request that has waited too long ranks behind the streams of its tier that are about to run
    // dry. Otherwise the long prompt of one model would run until streams of another model are as
    // late as the request. First chunks still rank before steps, because a batch of chunks is
    // short.
    if (left_s < 0) return {0, kForever_s};
    return {1, static_cast<double>(view.slot)};
  }
  const bool urgent = view.slack_s < snapshot.nodes[view.node].urgent_s;
  if constexpr (std::is_same_v<View, SequenceView>) {
    // A late word for a reader disturbs less than a gap for a listener.
    const double left_s = slack_of(view);
    if (view.reads && urgent) return left_s < 0 ? Rank{0, left_s} : Rank{1, kForever_s};
  }
  return {urgent ? 0 : 2, view.slack_s};
}

/// Sorts views by rank. Among the nodes of one request, the node nearest to the client comes first.
/// So the client gets audio of an answer while the model still writes it.
template <typename View>
void sort_views(const Snapshot& snapshot, std::vector<View>& views) {
  std::sort(views.begin(), views.end(), [&](const View& a, const View& b) {
    const Rank left = rank_of(snapshot, a), right = rank_of(snapshot, b);
    if (left < right || right < left) return left < right;
    return a.slot != b.slot ? a.slot < b.slot : a.node > b.node;
  });
}

/// Adds sequences of one node: first those of tiers 0 and 1, then others as long as they lengthen
/// the batch little.
void fill_steps(const Snapshot& snapshot, int node, Plan& plan) {
  const double patience_s = patience_of_others(snapshot, snapshot.model_of(node));
  StepFiller filler(snapshot, node, patience_s, plan);
  auto seq = snapshot.sequences.begin();
  const auto end = snapshot.sequences.end();
  for (; seq != end && rank_of(snapshot, *seq).tier < 2; ++seq) filler.add(*seq);
  if (filler.rows() == 0) return;
  const StageCost& cost = snapshot.nodes[node].cost;
  const double longest_s = (1 + kStreamingRules.fill) * cost.of(filler.rows());
  for (; seq != end && !filler.full(); ++seq) {
    if (seq->node != node) continue;
    if (cost.of(filler.rows() + seq->rows_due + seq->companion_due) > longest_s) break;
    filler.add(*seq);
  }
  add_drafts(snapshot, filler, std::min(patience_s, longest_s), plan);
}

/// Returns the first view whose node has the flag `which` (here or next). Null if none has it.
template <typename View>
const View* first_of(const Snapshot& snapshot, const std::vector<View>& views,
                     bool NodeView::*which = &NodeView::here) {
  for (const View& view : views) {
    if (snapshot.nodes[view.node].*which) return &view;
  }
  return nullptr;
}

}  // namespace

double urgent_slack_s(std::span<const NodeView> nodes, int model, int max_batch) {
  double work_s = 0, others_s = 0;
  for (const NodeView& node : nodes) {
    if (node.model != model) {
      others_s = std::max(others_s, node.cost.of(1));
    } else if (node.ar) {
      work_s += node.cost.of(max_batch);
    } else {
      work_s +=
          std::min(node.cost.of(max_batch * kTypicalChunkFrames), kStreamingRules.longest_chunks_s);
    }
  }
  return work_s + others_s + kStreamingRules.margin_s;
}

void plan_streaming(Snapshot& snapshot, Plan& plan) {
  plan.clear();
  for (NodeView& node : snapshot.nodes)
    node.urgent_s = urgent_slack_s(snapshot.nodes, node.model, snapshot.max_batch);
  sort_views(snapshot, snapshot.sequences);
  sort_views(snapshot, snapshot.chunks);
  const auto rank = [&](const auto* view) { return view ? rank_of(snapshot, *view) : Rank{3, 0}; };
  const SequenceView* seq = first_of(snapshot, snapshot.sequences);
  const ChunkView* chunk = first_of(snapshot, snapshot.chunks);
  const Rank step_rank = rank(seq), chunk_rank = rank(chunk);

  // If the work of another model is more urgent, plans nothing, so that the executor can run that
  // work after its present batch.
  const Rank next = std::min(rank(first_of(snapshot, snapshot.sequences, &NodeView::next)),
                             rank(first_of(snapshot, snapshot.chunks, &NodeView::next)));
  if (next.tier <= 1 && next < std::min(step_rank, chunk_rank)) return;
  // In the same tier, chunks come before steps, because chunks yield audio at once.
  if (chunk_rank.tier <= 1 && chunk_rank.tier <= step_rank.tier) {
    return take_chunks(snapshot, chunk->node, plan, kStreamingRules.longest_chunks_s);
  }
  for (const SequenceView& urgent : snapshot.sequences) {
    if (step_rank.tier > 1 || rank_of(snapshot, urgent).tier > 1) break;
    if (!snapshot.nodes[urgent.node].here) continue;
    fill_steps(snapshot, urgent.node, plan);
    if (plan.kind != Plan::kIdle) return;  // else the node has too few pages for all sequences
  }
  plan_largest(snapshot, plan, kStreamingRules.longest_chunks_s, true);
}

// ---------------------------------------------------------------------------- the others

void plan_throughput(Snapshot& snapshot, Plan& plan) {
  plan_largest(snapshot, plan, kForever_s, false);
}

void plan_fcfs(Snapshot& snapshot, Plan& plan) {
  plan.clear();
  if (const ChunkView* chunk = first_of(snapshot, snapshot.chunks)) {
    return take_chunks(snapshot, chunk->node, plan);
  }
  if (snapshot.ahead) return;
  for (const SequenceView& seq : snapshot.sequences) {
    if (!snapshot.nodes[seq.node].here) continue;
    take_steps(snapshot, seq.node, plan, kForever_s);
    if (plan.kind != Plan::kIdle) return;  // else the node has too few pages for all sequences
  }
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
