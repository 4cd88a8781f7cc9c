// Scheduling as pure functions: (snapshot of plain values, including the time) -> plan.
// A policy claims nothing, remembers nothing and is tested with tables.
#pragma once

#include <cstdint>
#include <vector>

namespace syrinx {

/// A request whose AR stage is open, as a policy sees it. `slot` is its name inside this snapshot.
struct SequenceView {
  int slot = 0;
  uint64_t order = 0;  ///< admission order
  int rows_due = 1;    ///< 1: a decode step; more: a prompt (I1)
  int pages_held = 0;
  int kv_len = 0;        ///< positions in the cache
  bool started = false;  ///< its listener has got audio
  double slack_s = 0;    ///< audio delivered or in the pipe, minus the time played
};

/// A chunk that could run now.
struct ChunkView {
  int slot = 0;
  int link = 0;
  uint64_t order = 0;
  bool full = false;  ///< as large as a chunk may get: waiting longer gains nothing
  bool started = false;
  double slack_s = 0;  ///< seconds until the listener runs dry
};

struct Snapshot {
  int max_batch = 32;
  int max_prefill_rows = 128;
  int page_rows = 16;
  int pages_free = 0;
  std::vector<SequenceView> sequences{};  ///< ready for a step, in admission order
  std::vector<ChunkView> chunks{};        ///< in admission order
};

struct PlannedSequence {
  int slot = 0;
  int rows = 1;
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

/// A chunk of a running stream waits for company until its listener is this close to silence.
inline constexpr double kChunkUrgent_s = 0.4;

/// Requests without audio first, then by playback slack; decoding goes on while no chunk is urgent.
/// Reorders the snapshot's lists.
void plan_streaming(Snapshot& snapshot, Plan& plan);

}  // namespace syrinx
