// Turns a plan into the batch that an executor runs: reserves pages for its rows, and takes frames
// for its chunks. Engine thread only.
//
// Invariants (CONTRACT.md, I8): frames are taken only after the last call that can fail. If a batch
// could not be built, or no executor took it, no request stays marked as in flight.
#pragma once

#include <string>

#include "engine/policy.h"
#include "engine/roster.h"
#include "engine/slots.h"

namespace syrinx {

class BatchBuilder {
 public:
  /// `max_batch`: largest number of sequences or chunks of a batch. `slots` and `roster` must
  /// outlive the BatchBuilder.
  BatchBuilder(int max_batch, const ExecutorSlots& slots, Roster& roster)
      : max_batch_(max_batch), slots_(slots), roster_(roster) {}

  /// Builds the batch of a plan. If the last batch could not be built, uses only the first request
  /// of the plan, to find the request at fault.
  void build(Plan& plan, Batch& batch, double now);
  /// Records that an executor has accepted the batch.
  void started() { one_by_one_ = false; }
  /// Removes the in-flight marks that build() set. If the batch could not be built, later batches
  /// have one request each, and a request that was alone in the batch fails. If the batch was built
  /// but no executor accepted it, all of its requests fail.
  void give_up(const Plan& plan, Batch& batch, const std::string& why);

 private:
  void build_step(const Plan& plan, Batch& batch, double now);
  void build_chunks(const Plan& plan, Batch& batch);
  void add_sequence(const PlannedSequence& planned, Batch& batch, double now);

  const int max_batch_;
  const ExecutorSlots& slots_;
  Roster& roster_;
  bool built_ = false;       ///< whether the last build() succeeded
  bool one_by_one_ = false;  ///< whether batches get one request each, after a failed build()
};

}  // namespace syrinx
