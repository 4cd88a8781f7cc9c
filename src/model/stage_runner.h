// Runs stages of any model in this process: on threads, or on streams of GPUs.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "base/thread_pool.h"
#include "model/stage.h"
#include "model/step.h"

namespace syrinx {

/// Threads, scratch memory and streams for stages. One thread at a time. After the first batches of
/// a stage it allocates nothing on the CPU.
class StageRunner {
 public:
  /// `threads`: see ThreadPool.
  explicit StageRunner(int threads, StepOptions options = {});

  /// Runs chunks. Throws what the stage throws. In both cases, all queued work has ended then.
  void run(const ChunkStage& stage, std::span<ChunkJob> jobs);
  /// Runs a step. Throws what the stage throws. In both cases, all queued work has ended then.
  void run(const ArStage& stage, const Step& step, StepResults& out);

  /// played(): whether a GPU replayed the last batch from a recording (Stream::repeat). recalled():
  /// whether that ran no code of the stage (Stream::repeat_as).
  bool played() const { return played_; }
  bool recalled() const { return recalled_; }

 private:
  void run_on(Device device, StreamPriority priority, FunctionRef<void(StepContext&)> work);

  ThreadPool pool_;
  // Streams of AR stages go before those of chunk stages, because a late step delays all later
  // chunks of its listeners. The CPU has one space.
  std::map<std::pair<Device, StreamPriority>, Workspace> spaces_;
  StepWork steps_;
  bool played_ = false, recalled_ = false;
};

}  // namespace syrinx
