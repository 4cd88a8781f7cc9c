// All requests of the machine: requests that wait for a seat, requests with a seat, and their ends.
// Engine thread only.
//
// Invariants (CONTRACT.md, I6, I8, I12):
// - a request is in one of the two lists from take_in() until it has ended and is in no batch; then
//   take_ended() reports it once;
// - ResidentModel::requests counts a model's requests, ResidentModel::holding its requests with a
//   seat. Requests in the background, or paused because their client does not read, hold no seat;
// - free seats go to the client with the fewest seats, then in order of arrival; if no seat is
//   free, a request that has waited longer than was promised is refused.
#pragma once

#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "engine/active.h"
#include "engine/load.h"
#include "engine/platform.h"
#include "engine/trace_log.h"

namespace syrinx {

class Roster {
 public:
  using Requests = std::vector<std::unique_ptr<Active>>;
  using Waiting = std::list<std::unique_ptr<Active>>;

  /// All arguments must outlive the Roster; `trace` may be null.
  Roster(const Platform& clock, const MachineLoad& load, TraceLog* trace)
      : clock_(clock), load_(load), trace_(trace) {}

  /// Returns the requests with a seat, in the order in which they got it.
  Requests& active() { return active_; }
  const Requests& active() const { return active_; }
  /// Adds a request, passed as a list with one element. Registers its id in the trace.
  Active& take_in(Waiting request);
  /// Returns the request. Null if the id is unknown or the request has ended.
  Active* find(RequestId id);

  /// Refuses requests that have waited too long, then gives free seats to waiting requests.
  void promote(std::span<ResidentModel* const> models);
  /// Removes requests that have ended and are in no batch.
  void sweep();
  /// Returns whether an ended request waits for sweep().
  bool has_ended() const;
  void publish_counts(std::span<ResidentModel* const> models) const;

  /// Calls `work`. An exception from `work` fails only this request (I8).
  void guarded(Active& request, FunctionRef<void()> work);
  void fail(Active& request, Error error);
  /// Ends a request. Its record stays until no batch uses the request.
  void finish(Active& request, FinishReason reason);
  /// Ends the requests of a model with kCancelled; a null `model` means the requests of all models.
  void cancel_all(const ResidentModel* model = nullptr);
  void fail_all(const char* why);

  /// A request that has ended.
  struct Ended {
    ResidentModel* model = nullptr;
    uint64_t client = 0;
  };
  void take_ended(std::vector<Ended>& ended) {
    ended.clear();
    ended.swap(ended_);
  }

  bool waits() const { return !waiting_.empty(); }
  Load load(const ResidentModel& model, std::span<ResidentModel* const> models) const;
  SlowRequests slow(const ResidentModel& model) const;

 private:
  template <typename F>
  void for_each(F&& f) const {
    for (const auto& request : active_) f(*request);
    for (const auto& request : waiting_) f(*request);
  }
  void refuse_overdue(const ResidentModel& model);
  void count_holding(std::span<ResidentModel* const> models);
  bool promote_one(ResidentModel& model, double seats);
  bool forget(Active& request);

  const Platform& clock_;
  const MachineLoad& load_;
  TraceLog* trace_;
  Requests active_;
  Waiting waiting_;
  std::vector<Ended> ended_;
};

/// Sets the gauges of a model's pages.
void publish_pages(ResidentModel& model);

}  // namespace syrinx
