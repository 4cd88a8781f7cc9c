// Scheduling as pure functions: a snapshot of plain values, taken at one moment, gives a plan.
// A policy claims nothing, remembers nothing and is tested with tables; `syrinx simulate` runs the
// same functions on virtual time.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// A node of any model of the machine, by its number in Snapshot::nodes.
struct NodeView {
  int model = 0;  ///< of one model, nodes are planned together
  bool ar = false;
  bool here = true;   ///< the executor that is free runs it
  bool next = false;  ///< would run it now, but has a batch of another model
  StageCost cost = {};
  int pages_free = 0;       ///< of an AR node's cache
  int steps_in_flight = 0;  ///< sequences in its batches that run now and come back soon
};

/// A sequence whose next rows could be run now. `slot` is its request's name inside this snapshot.
/// With a guidance companion it fills two entries of a batch.
struct SequenceView {
  int slot = 0;
  int node = 0;
  uint64_t order = 0;      ///< admission order
  int rows_due = 1;        ///< 1: a decode step; more: a prompt (CONTRACT.md, I1)
  int companion_due = 0;   ///< the same for the companion; 0: there is none
  int pages_wanted = 0;    ///< still to be taken for all due rows of both
  int drafts = 0;          ///< guesses of its next steps that may be run along with what is due
  double draft_odds = 0;   ///< that one of them comes true, when those before it have
  bool decoding = false;   ///< its prompt is in the cache
  bool begun = false;      ///< rows of it are in the cache
  bool started = false;    ///< its client has got audio or text
  bool reads = false;      ///< it is only read, never heard
  bool gives_way = false;  ///< to an older one that has its pages; never in a snapshot
  double slack_s = 0;      ///< seconds until the client runs dry, counting the frames that wait for
                           ///< chunk nodes; not started: minus the seconds it has waited
};

/// A chunk that could run now.
struct ChunkView {
  int slot = 0;
  int node = 0;
  uint64_t order = 0;
  int frames = 1;     ///< fresh ones
  bool full = false;  ///< as large as a chunk may get: waiting longer gains nothing
  bool started = false;
  double slack_s = 0;  ///< seconds until the client runs dry; not started: minus the time waited
};

/// The state that a policy plans from: plain data, of all models at one moment.
struct Snapshot {
  int max_batch = 32;  ///< entries in a batch
  int max_prefill_rows = 128;
  /// The largest batch, as far as rows or chunks can be left out.
  double longest_s = std::numeric_limits<double>::infinity();
  bool ahead = false;  ///< the executor is busy: plan only rows that a later plan would not place
                       ///< better
  double busy_s = 0;   ///< for how long it is expected to stay busy
  std::vector<NodeView> nodes{};
  std::vector<SequenceView> sequences{};  ///< in admission order
  std::vector<ChunkView> chunks{};        ///< in admission order

  int model_of(int node) const { return nodes[node].model; }
};

/// The part of a sequence in a batch.
struct PlannedSequence {
  int slot = 0;
  int rows = 1;
  int companion_rows = 0;
  int drafts = 0;  ///< guesses to be run behind the rows
  bool operator==(const PlannedSequence&) const = default;
};

/// The next batch, or none.
struct Plan {
  enum Kind { kIdle, kAr, kChunks };
  Kind kind = kIdle;
  int node = 0;
  std::vector<PlannedSequence> sequences;  ///< of kAr
  std::vector<int> chunk_slots;            ///< of kChunks

  void clear() {
    kind = kIdle;
    sequences.clear();
    chunk_slots.clear();
  }
  /// Leaves the first of all.
  void keep_first() {
    while (sequences.size() > 1) sequences.pop_back();
    while (chunk_slots.size() > 1) chunk_slots.pop_back();
  }
};

/// May reorder the snapshot's lists.
using Policy = void (*)(Snapshot& snapshot, Plan& plan);

/// Deadlines first: streams about to run dry, then requests without audio in order of arrival, then
/// readers whose next word is due, then the rest by slack as far as the batch is not made much
/// slower. When nothing is urgent, as throughput.
void plan_streaming(Snapshot& snapshot, Plan& plan);
/// The largest batches of both stages; listeners' deadlines do not count.
void plan_throughput(Snapshot& snapshot, Plan& plan);
/// The baseline: everything in order of arrival, chunks as soon as they can be cut.
void plan_fcfs(Snapshot& snapshot, Plan& plan);

/// A policy, and its name in the options.
struct NamedPolicy {
  std::string_view name;
  Policy plan;
};
/// All policies.
std::span<const NamedPolicy> policies();
/// Null when there is no policy of that name.
Policy find_policy(std::string_view name);

/// Constants of plan_streaming.
struct StreamingRules {
  double margin_s = 0.03;    ///< a stream this close to silence, beyond the work ahead, is urgent
  double patience_s = 0.25;  ///< a request that has waited this long for its first audio is as
                             ///< urgent, and so is a reader whose next word is late by this time
  double fill = 0.2;         ///< relaxed rows may make an urgent batch longer by this share
  double drafts = 0.5;       ///< guesses may make a batch longer by this share
  double longest_chunks_s = 0.01;  ///< of a batch of chunks, if it has more than one: on a CPU more
                                   ///< frames at once are not cheaper, and others wait meanwhile
};
inline constexpr StreamingRules kStreamingRules{};

/// Slack below which a stream of `model` counts as urgent: one full batch of each of its nodes, the
/// longest single row of another model's that may be in the way, and the margin. The engine cuts
/// smaller chunks for streams that are below it.
double urgent_slack_s(std::span<const NodeView> nodes, int model, int max_batch);

}  // namespace syrinx
