// Runs batches of any stage of any model on some CPU cores, or on a GPU stream if the stage is on a
// GPU. Owns a thread pool and scratch memory; does not depend on models or requests. One thread at
// a time. A warm executor does not allocate on the CPU. When run() returns, all GPU work of the
// batch has ended.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "engine/batch.h"
#include "model/pipeline.h"

namespace syrinx {

/// Options of an executor.
struct ExecutorOptions {
  int threads = 0;      ///< number of threads, as in ThreadPool
  bool greedy = false;  ///< StepOptions::greedy of each step
  std::function<void(StepContext& ctx, int k, View logits)> watch = {};
};

/// One executor slot's thread pool, scratch memory and device stream.
class Executor {
 public:
  explicit Executor(ExecutorOptions options);
  /// Makes an executor with a pool of `threads` threads (see ThreadPool).
  explicit Executor(int threads) : Executor(ExecutorOptions{.threads = threads}) {}

  /// Runs the batch and writes its results and times. Stores the message of a stage's exception in
  /// Batch::fault.
  void run(Batch& batch);

 private:
  /// Returns an empty context for a batch of this kind.
  StepContext& fresh_context(Device device, Plan::Kind kind);
  void run_step(StepContext& ctx, Batch& batch);

  ThreadPool pool_;
  Workspace cpu_;
  // Made when the first stage of a kind runs on a GPU. Streams of AR stages go before those of
  // chunk stages, because a late step delays all later chunks of its listeners.
  std::map<std::pair<Device, Plan::Kind>, Workspace> gpus_;
  StepWork steps_;
};

}  // namespace syrinx
