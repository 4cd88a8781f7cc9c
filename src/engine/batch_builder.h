// Turns a plan into the batch that an executor runs: takes pages for its rows, and frames for its
// chunks. Engine thread only.
//
// Invariants (CONTRACT.md, I8): frames are taken only after the last call that can fail. After a
// batch that could not be built, or that no executor took, no request is marked as in flight.
#pragma once

#include "engine/policy.h"
#include "engine/roster.h"
#include "engine/slots.h"

namespace syrinx {

class BatchBuilder {
 public:
  /// Both outlive it.
  BatchBuilder(const ExecutorSlots& slots, Roster& roster) : slots_(slots), roster_(roster) {}

  /// Builds the batch of a plan. After a batch that could not be built, uses only the plan's first
  /// request, to find the request at fault.
  void build(Plan& plan, bool background, Batch& batch, double now);
  /// Records that an executor has the batch.
  void started() { one_by_one_ = false; }
  /// Removes the marks of build(). If the batch could not be built, later batches are built of one
  /// request each; a request that was alone in the batch fails. If the batch was built, all of its
  /// requests fail.
  void give_up(const Plan& plan, Batch& batch, const char* why);

 private:
  void build_step(const Plan& plan, Batch& batch, double now);
  void build_chunks(const Plan& plan, Batch& batch);
  void add_sequence(const PlannedSequence& planned, Batch& batch, double now);

  const ExecutorSlots& slots_;
  Roster& roster_;
  bool built_ = false;       ///< the last build() has succeeded
  bool one_by_one_ = false;  ///< build batches of one request: the last one could not be built
};

}  // namespace syrinx
