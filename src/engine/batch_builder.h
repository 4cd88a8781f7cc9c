// Turns a plan into the batch that an executor runs: takes the pages of its rows and the frames of
// its chunks. Engine thread only.
//
// Invariants (CONTRACT.md, I8): frames are taken once nothing can fail any more; a batch that could
// not be built or found no executor leaves no request marked as in flight.
#pragma once

#include "engine/policy.h"
#include "engine/roster.h"
#include "engine/slots.h"

namespace syrinx {

class BatchBuilder {
 public:
  /// Both outlive it.
  BatchBuilder(const ExecutorSlots& slots, Roster& roster) : slots_(slots), roster_(roster) {}

  /// Builds the batch of a plan, or of its first request alone after a batch that could not be
  /// built: which request was at fault shows when each is alone in its batch.
  void build(Plan& plan, bool background, Batch& batch, double now);
  /// Call it once an executor has the batch.
  void started() { one_by_one_ = false; }
  /// Undoes what build() marked. The requests of a batch that could not be built are then tried one
  /// by one; a request that was alone in it fails, and so do all of a batch that was built.
  void give_up(const Plan& plan, Batch& batch, const char* why);

 private:
  void build_step(const Plan& plan, Batch& batch, double now);
  void build_chunks(const Plan& plan, Batch& batch);
  void add_sequence(const PlannedSequence& planned, Batch& batch, double now);

  const ExecutorSlots& slots_;
  Roster& roster_;
  bool built_ = false;       ///< the batch of the last build()
  bool one_by_one_ = false;  ///< a batch could not be built
};

}  // namespace syrinx
