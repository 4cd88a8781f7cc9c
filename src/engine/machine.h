// The machine: one thread that schedules the requests of all models of the process, on executors
// that they share (CONTRACT.md). Public methods are safe from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/thread_pool.h"
#include "engine/active.h"
#include "engine/engine.h"
#include "engine/resident.h"

namespace syrinx {

class Scheduler;

/// Counts and load of a model for submit() and drain(); under the machine's lock.
struct ModelAdmission {
  int unfinished = 0;
  int arriving = 0;                   ///< requests that the scheduler has not received yet
  std::map<uint64_t, int> of_client;  ///< number of unfinished requests of each client
  bool draining = false;
  Load load;
  std::vector<StageCost> costs;  ///< learned cost of each node
};

/// The scheduler thread and the executors of a process.
class Machine {
 public:
  /// Uses only the machine's options (EngineOptions). Throws LoadError when an option is invalid or
  /// the trace file cannot be written.
  explicit Machine(EngineOptions options = {});
  /// All models must have been removed before.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const EngineOptions& options() const;

  /// Adds a model, which may then receive requests. Both arguments must live until remove().
  void add(ResidentModel& model, ModelAdmission& admission);
  /// Ends the model's requests with kCancelled and waits until the machine no longer refers to it.
  void remove(ResidentModel& model);

  /// Calls `f` under the lock that all admissions share.
  void locked(FunctionRef<void()> f) const;
  /// Queues a request that its model has admitted.
  RequestId take_in(std::unique_ptr<Active> request);
  /// Queues `letter`, which the engine thread calls in its next turn, in posting order.
  void post(std::function<void(Scheduler&)> letter);
  /// Waits until the model has no unfinished request; returns false after timeout_s.
  bool wait_for_end(const ModelAdmission& admission, double timeout_s);
  /// Wakes threads blocked in wait_for_end().
  void notify_end();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
