// Scheduling as pure functions: a snapshot of plain values, taken at one moment, gives a plan.
// A policy claims nothing, remembers nothing and is tested with tables; `syrinx simulate` runs the
// same functions on virtual time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/cost.h"

namespace syrinx {

/// A request whose next step could be taken now. `slot` is its name inside this snapshot. With a
/// guidance companion it fills two places of a batch.
struct SequenceView {
  int slot = 0;
  uint64_t order = 0;     ///< admission order
  int rows_due = 1;       ///< 1: a decode step; more: a prompt (CONTRACT.md, I1)
  int companion_due = 0;  ///< the same for the companion; 0: there is none
  int pages_wanted = 0;   ///< still to be taken for all due rows of both
  bool decoding = false;  ///< its prompt is in the cache
  bool started = false;   ///< its listener has got audio
  double slack_s = 0;     ///< seconds until the listener runs dry, counting the frames that wait
                          ///< for a chunk stage; not started: minus the seconds it has waited
};

/// A chunk that could run now.
struct ChunkView {
  int slot = 0;
  int link = 0;
  uint64_t order = 0;
  int frames = 1;     ///< fresh ones
  bool full = false;  ///< as large as a chunk may get: waiting longer gains nothing
  bool started = false;
  double slack_s = 0;  ///< seconds until the listener runs dry; not started: minus the time waited
};

struct Snapshot {
  int max_batch = 32;  ///< places in a batch
  int max_prefill_rows = 128;
  int pages_free = 0;
  bool may_step = true;   ///< the executor that is free runs AR batches
  bool may_chunk = true;  ///< and chunk batches
  bool ahead = false;  ///< the executor is busy: plan only what would not be planned better later
  int steps_in_flight = 0;  ///< sequences in AR batches that run now and come back soon
  CostModel costs{};
  std::vector<SequenceView> sequences{};  ///< in admission order
  std::vector<ChunkView> chunks{};        ///< in admission order
};

struct PlannedSequence {
  int slot = 0;
  int rows = 1;
  int companion_rows = 0;
  bool operator==(const PlannedSequence&) const = default;
};

struct Plan {
  enum Kind { kIdle, kAr, kChunks };
  Kind kind = kIdle;
  int link = 0;                            ///< of kChunks
  std::vector<PlannedSequence> sequences;  ///< of kAr
  std::vector<int> chunk_slots;            ///< of kChunks

  void clear() {
    kind = kIdle;
    sequences.clear();
    chunk_slots.clear();
  }
};

/// May reorder the snapshot's lists.
using Policy = void (*)(Snapshot& snapshot, Plan& plan);

/// Deadlines first: streams about to run dry, then requests without audio in order of arrival, then
/// the rest by slack as far as the batch is not made much slower. When nothing is urgent, as
/// throughput.
void plan_streaming(Snapshot& snapshot, Plan& plan);
/// The largest batches of both stages; listeners' deadlines do not count.
void plan_throughput(Snapshot& snapshot, Plan& plan);
/// The baseline: everything in order of arrival, chunks as soon as they can be cut.
void plan_fcfs(Snapshot& snapshot, Plan& plan);

struct NamedPolicy {
  std::string_view name;
  Policy plan;
};
std::span<const NamedPolicy> policies();
/// Null when there is no policy of that name.
Policy find_policy(std::string_view name);

/// Constants of plan_streaming.
struct StreamingRules {
  double margin_s = 0.03;    ///< a stream this close to silence, beyond the work ahead, is urgent
  double patience_s = 0.25;  ///< a request that waited so long for its first audio is as urgent
  double fill = 0.2;         ///< relaxed rows may make an urgent batch longer by this share
  double longest_chunks_s = 0.01;  ///< of a batch of chunks, if it has more than one: on a CPU more
                                   ///< frames at once are not cheaper, and others wait meanwhile
};
inline constexpr StreamingRules kStreamingRules{};

/// Slack below which a stream counts as urgent, given the costs: one full batch of each stage, and
/// the margin. The engine cuts smaller chunks for streams that are below it.
double urgent_slack_s(const CostModel& costs, int max_batch);

}  // namespace syrinx
