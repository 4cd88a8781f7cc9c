// Runs batches of any stage of one pipeline on some of this machine's cores, and on a stream of its
// GPU where a stage runs there: owns a thread pool and scratch memory; shares the KV cache with the
// other executors. Knows no requests. One thread at a time. A warm executor does not allocate on
// the CPU. What a batch has queued on a GPU is over when run() returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "kernels/guidance.h"
#include "model/pipeline.h"

namespace syrinx {

class Executor {
 public:
  /// `kv`, one pool per ArTraits::kv, outlives the executor. `threads` as in ThreadPool.
  Executor(const Pipeline& pipeline, std::span<const KvPool> kv, int threads);

  /// Runs the batch and writes its results and times. Whatever a stage throws is in its fault.
  void run(Batch& batch);

 private:
  StepContext& context(Device device) { return (device == Device::kCpu ? cpu_ : *gpu_).context(); }
  template <typename Work>
  void repeat(StepContext& ctx, Batch& batch, const Work& work);
  void run_step(StepContext& ctx, Batch& batch);
  int lay_out(const Batch& batch);
  void queue_step(StepContext& ctx, const Batch& batch, int emits);
  void sample_code(StepContext& ctx, int k, View logits, View codes, View status);
  void read_results(Batch& batch);

  const ArStage& ar_;
  std::span<const KvPool> kv_;
  ThreadPool pool_;
  Workspace cpu_;
  std::optional<Workspace> gpu_;  // where a stage runs on it

  // The batch being run; kept to reuse their memory.
  std::vector<ArSeq> seqs_;
  std::vector<int32_t> row_begin_, kv_len_;
  std::vector<int32_t> results_;  // codes [E, K], then statuses [rows without companions, K]
  std::vector<SampleRow> rows_;
  std::vector<const StepSequence*> emitting_;  // without companions
  std::vector<GuidedRow> merged_;              // of each of them
  bool guided_ = false;
};

}  // namespace syrinx
