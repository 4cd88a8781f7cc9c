// Runs batches of any stage of any model on some CPU cores, or on a GPU stream if the stage is on a
// GPU. Does not depend on models or requests. One thread at a time. A warm executor does not
// allocate on the CPU. When run() returns, all GPU work of the batch has ended.
#pragma once

#include "engine/batch.h"
#include "model/stage_runner.h"

namespace syrinx {

/// One executor slot's thread pool, scratch memory and device streams.
class Executor {
 public:
  /// `threads`: see ThreadPool.
  explicit Executor(int threads, StepOptions options = {}) : runner_(threads, std::move(options)) {}

  /// Runs the batch and writes its results and times. Stores the message of a stage's exception in
  /// Batch::fault.
  void run(Batch& batch);

 private:
  StageRunner runner_;
};

}  // namespace syrinx
