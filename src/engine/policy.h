// Scheduling as pure functions: a policy makes a plan from a snapshot of plain values. A policy
// reserves nothing and keeps no state, so tests are tables of values. `syrinx simulate` runs the
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

/// A node of any model of the machine.
struct NodeView {
  int model = 0;  ///< number of the node's model; nodes of one model are planned together
  bool ar = false;
  bool here = true;   ///< the executor being planned for may run the node now
  bool next = false;  ///< the executor could run the node, but has a batch of another model
  StageCost cost = {};
  int prefill_rows = 128;   ///< prompt rows that one step of an AR node may add
  int pages_free = 0;       ///< free pages of an AR node's cache
  int steps_in_flight = 0;  ///< sequences in batches of the node that run now
  // A policy sets these fields: its views, those of them with full chunks, and urgent_slack_s().
  int views = 0, full_chunks = 0;
  double urgent_s = 0;
};

/// A sequence whose next rows could run now. With a guidance companion it fills two entries of a
/// batch.
struct SequenceView {
  int slot = 0;  ///< number of the request in this snapshot; smaller is older
  int node = 0;
  int rows_due = 1;       ///< due rows: 1 for a decode step, more for a prompt (CONTRACT.md, I1)
  int companion_due = 0;  ///< due rows of the companion; 0: no due rows
  int pages_wanted = 0;   ///< pages that all due rows of the sequence and its companion still need
  int drafts = 0;         ///< number of guesses that may run after the due rows
  double draft_odds = 0;  ///< probability that a guess is right if all guesses before it are right
  bool begun = false;     ///< some rows of the sequence are in the cache
  bool started = false;   ///< the client has received audio or text
  bool reads = false;     ///< the output of the request is only read, not heard
  double slack_s = 0;     ///< seconds until the client runs dry, with frames that wait for chunk
                          ///< nodes; before the first output: minus the seconds waited
  /// Returns whether the sequence is past its prompt, so that a row is a step.
  bool decoding() const { return begun && rows_due == 1 && companion_due <= 1; }
};

/// A chunk of one request that could run now.
struct ChunkView {
  int slot = 0;  ///< as in SequenceView
  int node = 0;
  int frames = 1;     ///< new frames
  bool full = false;  ///< the chunk has the largest size, so waiting longer gains nothing
  bool started = false;
  double slack_s = 0;  ///< seconds until the client runs dry; not started: minus the seconds waited
};

/// The state that a policy plans from: plain data, of all models at one moment.
struct Snapshot {
  int max_batch = 32;  ///< limit of entries in a batch: sequences and companions, or chunks
  /// Longest time of a batch. Only work that cannot be cut may exceed it.
  double longest_s = std::numeric_limits<double>::infinity();
  bool ahead = false;  ///< the executor is busy: plan only work that would gain nothing from
                       ///< waiting for more requests
  double busy_s = 0;   ///< seconds for which the executor is expected to stay busy
  std::vector<NodeView> nodes{};
  std::vector<SequenceView> sequences{};  ///< in admission order
  std::vector<ChunkView> chunks{};        ///< in admission order

  int model_of(int node) const { return nodes[node].model; }
};

/// A sequence in a planned batch.
struct PlannedSequence {
  int slot = 0;
  int rows = 1;
  int companion_rows = 0;
  int drafts = 0;  ///< number of guesses to run after the rows
  bool operator==(const PlannedSequence&) const = default;
};

/// The next batch, or nothing (kIdle).
struct Plan {
  enum Kind { kIdle, kAr, kChunks };
  Kind kind = kIdle;
  int node = 0;
  bool background = false;                 ///< the plan is for requests in the background
  std::vector<PlannedSequence> sequences;  ///< for a plan of kind kAr
  std::vector<int> chunk_slots;            ///< for a plan of kind kChunks

  void clear() {
    kind = kIdle;
    background = false;
    sequences.clear();
    chunk_slots.clear();
  }
  /// Removes all sequences and chunks except the first.
  void keep_first() {
    while (sequences.size() > 1) sequences.pop_back();
    while (chunk_slots.size() > 1) chunk_slots.pop_back();
  }
};

/// A function that makes a plan from a snapshot; it may reorder the snapshot's lists.
using Policy = void (*)(Snapshot& snapshot, Plan& plan);

/// Plans by deadlines: first streams that are about to run dry, then requests without audio in
/// order of arrival, then readers whose next word is due. Adds other work, in order of slack, while
/// it lengthens the batch little. If nothing is urgent, plans like plan_throughput().
void plan_streaming(Snapshot& snapshot, Plan& plan);
/// Plans the largest batches of any node, without regard to deadlines.
void plan_throughput(Snapshot& snapshot, Plan& plan);
/// Plans everything in order of arrival, and each chunk as soon as it can be cut. The baseline.
void plan_fcfs(Snapshot& snapshot, Plan& plan);

/// A policy with its name in the options.
struct NamedPolicy {
  std::string_view name;
  Policy plan;
};
/// All policies.
std::span<const NamedPolicy> policies();
/// Returns the policy with that name. Null if the name is unknown.
Policy find_policy(std::string_view name);

/// Constants of plan_streaming.
struct StreamingRules {
  double margin_s = 0.03;          ///< safety margin in urgent_slack_s()
  double patience_s = 0.25;        ///< a request is urgent after this wait for its first audio, or
                                   ///< its reader's wait for a word
  double fill = 0.2;               ///< share by which rows that are not urgent may lengthen a batch
  double drafts = 0.5;             ///< share by which guesses may lengthen a batch of several
  double longest_chunks_s = 0.01;  ///< longest time of a batch of several chunks. On a CPU, a frame
                                   ///< costs the same in a larger batch, and other work waits
};
inline constexpr StreamingRules kStreamingRules{};

/// Returns the slack below which a stream of `model` is urgent. It is the sum of three times: a
/// full batch of each of its nodes, the longest single row of another model, which may run first,
/// and the margin. The engine cuts smaller chunks for urgent streams.
double urgent_slack_s(std::span<const NodeView> nodes, int model, int max_batch);

}  // namespace syrinx
