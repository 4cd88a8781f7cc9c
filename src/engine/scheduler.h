// The work of the engine thread: commits results, reads messages, gives seats, plans, builds
// batches and runs them on the platform (CONTRACT.md, "One turn"). Its state is in other classes,
// each with its own invariants: requests in Roster, clients in Output, pages in Pages, slots and
// models in ExecutorSlots, learned costs in MachineLoad. It has no locks: one thread makes all
// calls. Times are on the platform's clock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/batch_builder.h"
#include "engine/commit.h"
#include "engine/edges.h"
#include "engine/load.h"
#include "engine/planner.h"
#include "engine/platform.h"
#include "engine/roster.h"
#include "engine/slots.h"
#include "engine/trace_log.h"

namespace syrinx {

class Scheduler {
 public:
  /// `platform` must outlive the scheduler and must have the slots of `spec`. Throws LoadError when
  /// an option is invalid.
  Scheduler(const EngineOptions& options, const SlotsSpec& spec, Platform& platform);
  ~Scheduler();

  /// Adds a model, which may then receive requests. The model must live until has() returns false.
  void add(ResidentModel& model);
  /// Ends the model's requests with kCancelled. Destroy the model only when has() returns false.
  void remove(ResidentModel& model);
  /// Returns whether the scheduler still refers to the model.
  bool has(const ResidentModel& model) const { return slots_.has(model); }

  void take_in(std::unique_ptr<Active> request);
  void cancel(RequestId id);
  void append_text(RequestId id, std::string text, bool last);
  void append_samples(RequestId id, std::vector<float> samples, bool last);
  void raise_priority(RequestId id);

  /// Applies the results of a batch that has run, or of host work.
  void commit(Batch* batch);
  void commit(std::unique_ptr<HostJob> job) { edges_.commit(std::move(job)); }
  /// Plans and starts batches while slots are free and work is due. An inline slot runs only one
  /// batch. Returns false when the call did nothing.
  bool dispatch();
  /// Fails all requests: the last resort after an unexpected exception.
  void fail_all(const std::string& why) { roster_.fail_all(why); }
  /// Ends all requests with kCancelled. No batch may be in flight.
  void end_all();

  /// Returns the seconds until a turn is due even if no message comes. Infinite: none is due.
  double look_again_s() const;
  int in_flight() const {
    return slots_.in_flight() + edges_.jobs_in_flight();
  }  ///< batches and host jobs in flight
  Load load(const ResidentModel& model) const { return roster_.load(model, models()); }
  std::span<ResidentModel* const> models() const { return slots_.models(); }

 private:
  bool fill(ExecutorSlot& slot);
  void learn();
  double now() const { return platform_.now(); }

  Platform& platform_;
  std::unique_ptr<TraceLog> trace_;
  MachineLoad load_;
  ExecutorSlots slots_;
  Roster roster_;
  Edges edges_;
  Committer committer_;
  Planner planner_;
  BatchBuilder builder_;
};

}  // namespace syrinx
