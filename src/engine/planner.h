// Plans the next batch of one executor slot. Takes a snapshot of the requests, as plain values, and
// calls a policy, which makes a plan from it (CONTRACT.md, "One turn", 4). Engine thread only.
//
// Invariants: a snapshot contains no request that has ended, is paused by its reader or has nothing
// to run, and nothing that is in flight (I9). Requests in the background are planned only when the
// slot has no other work, and only if no listener runs dry meanwhile (I15).
#pragma once

#include <array>
#include <vector>

#include "engine/load.h"
#include "engine/preemption.h"

namespace syrinx {

class Planner {
 public:
  /// All arguments must outlive the Planner. Throws LoadError for an unknown policy.
  Planner(const EngineOptions& options, const ExecutorSlots& slots, Roster& roster,
          MachineLoad& load);
  /// Reserves room for a snapshot of all nodes.
  void reserve() { snapshot_.nodes.reserve(slots_.nodes().size()); }

  /// Makes a plan for a slot. Returns false if nothing can run there.
  bool plan(const ExecutorSlot& slot, double now);
  Plan& plan() { return plan_; }
  /// Frees pages for requests that lacked pages in the last plan. Returns whether to plan again.
  bool make_room(const ExecutorSlot& slot) { return syrinx::make_room(rivals(), slots_, slot); }
  /// Returns whether the last snapshot left out requests that may run later without any event:
  /// paused requests and requests in the background.
  bool left_out() const { return left_out_; }

 private:
  PageRivals rivals() { return {slots_.nodes(), roster_.requests(), views_}; }
  void take_snapshot(const ExecutorSlot& slot, double now);
  void look_at_nodes(const ExecutorSlot& slot, double now);
  void look_at(Active& request, int slot, double now, Views& views);
  void look_at_steps(Active& request, int node, int slot, double now, Views& views);
  void look_at_draft(const ArRun& run, const ResidentNode& node, SequenceView& view) const;
  void share_prefix(Active& request, int node) const;
  ChunkCut next_cut(Active& request, int node, double slack_s) const;
  double patience_of_listeners(double now) const;
  void restrain_background(double now);
  bool ask_policy(Views& views);

  const EngineOptions options_;
  const ExecutorSlots& slots_;
  Roster& roster_;
  MachineLoad& load_;
  const Policy policy_;
  Snapshot snapshot_;           ///< empty lists, except while the policy runs
  std::array<Views, 2> views_;  ///< indexed by Urgency
  Plan plan_;
  bool left_out_ = false;
};

}  // namespace syrinx
