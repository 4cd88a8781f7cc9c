// All requests of the machine: requests that wait for a seat, requests with a seat, and their ends.
// Engine thread only.
//
// Invariants (CONTRACT.md, I6, I8, I12):
// - a request is in the list from take_in() until it has ended and is in no batch;
// - ResidentModel::requests counts a model's requests, ResidentModel::holding its requests with a
//   seat. Requests in the background, or paused because their client does not read, hold no seat;
// - free seats go to the client with the fewest seats, then in order of arrival; if no seat is
//   free, a request that has waited longer than was promised is refused.
#pragma once

#include <memory>
#include <span>
#include <string>
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

  /// All arguments must outlive the Roster; `trace` may be null.
  Roster(const Platform& clock, const MachineLoad& load, TraceLog* trace)
      : clock_(clock), load_(load), trace_(trace) {}

  /// Returns all requests in the order of arrival, with and without a seat (Active::promoted).
  Requests& requests() { return requests_; }
  const Requests& requests() const { return requests_; }
  /// Adds a request and registers its id in the trace. Returns null if memory is missing; then the
  /// request has ended.
  Active* take_in(std::unique_ptr<Active> request);
  /// Returns the request. Null if the id is unknown or the request has ended.
  Active* find(RequestId id);

  /// Refuses requests that have waited too long, then gives free seats to waiting requests.
  void promote(std::span<ResidentModel* const> models);
  /// Removes requests that have ended and are in no batch.
  void sweep();
  /// Returns whether an ended request waits for sweep().
  bool has_ended() const;
  /// Sets the metrics of the requests with a seat and of the waiting requests.
  void publish_counts(std::span<ResidentModel* const> models);

  /// Calls `work`. An exception from `work` fails only this request (I8).
  void guarded(Active& request, FunctionRef<void()> work);
  void fail(Active& request, Error error);
  /// Ends a request. Its record stays until no batch uses the request.
  void finish(Active& request, FinishReason reason);
  /// Ends the requests of a model with kCancelled; a null `model` means the requests of all models.
  void cancel_all(const ResidentModel* model = nullptr);
  void fail_all(const std::string& why);

  /// Returns whether a request waits for a seat.
  bool waits() const;
  Load load(const ResidentModel& model, std::span<ResidentModel* const> models) const;
  SlowRequests slow(const ResidentModel& model) const;

 private:
  int waiting(const ResidentModel& model) const;
  void refuse_overdue(const ResidentModel& model);
  void count_holding(std::span<ResidentModel* const> models);
  bool promote_one(ResidentModel& model, double seats);

  const Platform& clock_;
  const MachineLoad& load_;
  TraceLog* trace_;
  Requests requests_;
};

/// Sets the gauges of a model's pages.
void publish_pages(ResidentModel& model);

}  // namespace syrinx
