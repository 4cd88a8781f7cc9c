// The work of the engine's thread: commits results, takes the mail, gives seats, plans, builds
// batches and runs them on the platform (CONTRACT.md, "One turn"). Its state is in its parts, each
// with invariants of its own: requests in Roster, clients in Output, pages in Pages, slots and
// models in ExecutorSlots, learned costs in MachineLoad. Has no locks; one thread calls everything,
// on the platform's clock.
#pragma once

#include <list>
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
  /// `platform` outlives the scheduler and has the slots that `spec` names. Throws LoadError when
  /// an option makes no sense.
  Scheduler(const EngineOptions& options, const SlotsSpec& spec, Platform& platform);
  ~Scheduler();

  /// Adds a model, which must outlive its stay here; its requests may come from then on.
  void add(ResidentModel& model);
  /// Ends the model's requests with kCancelled. Destroy it only when has() is false.
  void remove(ResidentModel& model);
  /// Whether anything here refers to the model.
  bool has(const ResidentModel& model) const { return slots_.has(model); }

  // The mail.
  /// A list of one: memory that is short when it comes in may fail the request, but not lose it.
  void take_in(std::list<std::unique_ptr<Active>> request);
  void take_in(std::unique_ptr<Active> request);
  void cancel(RequestId id);
  void append_text(RequestId id, std::string text, bool last);
  void raise_priority(RequestId id);

  /// Takes the results of a batch that ran, or of host work.
  void commit(Batch* batch);
  void commit(std::unique_ptr<HostJob> job) { edges_.commit(std::move(job)); }
  /// Plans and starts batches while there is something to run and a slot to run it. With an
  /// inline platform: runs one. False when nothing was started.
  bool dispatch();
  /// Fails all requests: the last resort after an unexpected exception.
  void fail_all(const char* why) { roster_.fail_all(why); }
  /// Ends all requests with kCancelled. No batch may be in flight.
  void end_all();

  using Ended = Roster::Ended;
  /// The requests that ended since the last call: model and client.
  void take_ended(std::vector<Ended>& ended) { roster_.take_ended(ended); }
  /// When to look again although no mail comes, in seconds on the clock; infinite: never.
  double look_again_s() const;
  int in_flight() const {
    return slots_.in_flight() + edges_.jobs_in_flight();
  }  ///< batches, host jobs
  Load load(const ResidentModel& model) const { return roster_.load(model, models()); }
  std::span<ResidentModel* const> models() const { return slots_.models(); }

 private:
  bool fill(ExecutorSlot& slot);
  void learn();
  double now() const { return platform_.now(); }

  const int max_batch_;
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
