// Runs batches of any stage of any model on some of this machine's cores, and on a stream of its
// GPU where a stage runs there: owns a thread pool and scratch memory. Knows neither models nor
// requests. One thread at a time. A warm executor does not allocate on the CPU. Work that a batch
// has queued on a GPU has ended when run() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "engine/batch.h"
#include "model/pipeline.h"

namespace syrinx {

/// How batches are run.
struct ExecutorOptions {
  int threads = 0;      ///< as in ThreadPool
  bool greedy = false;  ///< as in StepOptions
  std::function<void(StepContext& ctx, int k, View logits)> watch = {};
};

/// One executor slot's thread pool, scratch memory and device stream.
class Executor {
 public:
  explicit Executor(ExecutorOptions options);
  /// `threads` as in ThreadPool.
  explicit Executor(int threads) : Executor(ExecutorOptions{.threads = threads}) {}

  /// Runs the batch and writes its results and times. Whatever a stage throws is in its fault.
  void run(Batch& batch);

 private:
  StepContext& context(Device device);
  void run_step(StepContext& ctx, Batch& batch);

  ThreadPool pool_;
  Workspace cpu_;
  std::optional<Workspace> gpu_;  // once a stage runs on it
  StepWork steps_;
};

}  // namespace syrinx
