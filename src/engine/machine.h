// The machine: one thread that schedules the requests of all models of the process, on executors
// that they share (CONTRACT.md). Public methods are safe from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/thread_pool.h"
#include "engine/scheduler.h"

namespace syrinx {

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

  const EngineOptions& options() const { return options_; }

  /// Adds a model, which may then receive requests. It must live until remove().
  void add(ResidentModel& model);
  /// Ends the model's requests with kCancelled and waits until the machine no longer refers to it.
  void remove(ResidentModel& model);

  /// Calls `f` under the lock of every ResidentModel::admission.
  void locked(FunctionRef<void()> f) const;
  /// Queues a request that its model has admitted.
  RequestId take_in(std::unique_ptr<Active> request);
  /// Queues `letter`, which the engine thread calls in its next turn, in posting order.
  void post(std::function<void(Scheduler&)> letter);

 private:
  /// A message to the engine thread: a function to call with the scheduler, or a new request.
  struct Mail {
    std::function<void(Scheduler&)> call = {};
    std::unique_ptr<Active> arrives = {};
  };
  void put(FunctionRef<void()> change);
  void run();
  void safely(FunctionRef<void()> work);
  bool take_what_came(bool idle);
  void publish();

  const EngineOptions options_;

  // Data shared with callers, executors and host threads, under `mutex_`.
  mutable std::mutex mutex_;
  std::condition_variable something_came_, model_left_;
  std::vector<Mail> mailbox_;
  std::vector<Batch*> returned_;
  std::vector<std::unique_ptr<HostJob>> prepared_;
  std::vector<ResidentModel*> models_;
  RequestId next_id_ = 1;
  bool stopping_ = false;

  // Data that only the engine thread uses.
  std::vector<Mail> mail_;
  std::vector<Batch*> done_;
  std::vector<std::unique_ptr<HostJob>> jobs_;
  std::unique_ptr<Platform> platform_;
  std::unique_ptr<Scheduler> scheduler_;
  std::thread thread_;
};

/// Throws LoadError if the value of the option `name` is below `least`.
void check_least(const char* name, double value, double least);

}  // namespace syrinx
