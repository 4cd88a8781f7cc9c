// Runs batches of any stage of any model on some of this machine's cores, and on a stream of its
// GPU where a stage runs there: owns a thread pool and scratch memory. Knows neither models nor
// requests. One thread at a time. A warm executor does not allocate on the CPU. What a batch has
// queued on a GPU is over when run() returns.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "kernels/guidance.h"
#include "model/pipeline.h"

namespace syrinx {

struct ExecutorOptions {
  int threads = 0;      ///< as in ThreadPool
  bool greedy = false;  ///< the largest logit after the rules, whatever requests say
  /// Sees logits f32 [rows that are sampled, vocab[k]] of code k: after guidance, before any rule.
  /// They lie on the context's device. Unset: nobody looks.
  std::function<void(StepContext& ctx, int k, View logits)> watch = {};
};

class Executor {
 public:
  explicit Executor(ExecutorOptions options);
  /// `threads` as in ThreadPool.
  explicit Executor(int threads) : Executor(ExecutorOptions{.threads = threads}) {}

  /// Runs the batch and writes its results and times. Whatever a stage throws is in its fault.
  void run(Batch& batch);

 private:
  StepContext& context(Device device);
  template <typename Work>
  void repeat(StepContext& ctx, Batch& batch, const Work& work);
  void run_step(StepContext& ctx, Batch& batch);
  int lay_out(const Batch& batch);
  void queue_step(StepContext& ctx, Batch& batch, int emits);
  void sample_code(StepContext& ctx, int k, View logits, View codes, View status);
  void fetch_values(StepContext& ctx, Batch& batch, const ArBatch& rows, View hidden, View codes);
  void fetch_taps(StepContext& ctx, Batch& batch, View taps);
  void score(StepContext& ctx, Batch& batch, View logits);
  void read_results(Batch& batch);

  const ExecutorOptions options_;
  ThreadPool pool_;
  Workspace cpu_;
  std::optional<Workspace> gpu_;  // once a stage runs on it

  // The batch being run; kept to reuse their memory.
  std::vector<ArSeq> seqs_;
  std::vector<int32_t> row_begin_, kv_len_;
  std::vector<int32_t> results_;  // codes [E, K], then statuses [rows without companions, K]
  std::vector<SampleRow> rows_;
  /// A row that yields a step, after so many guesses of its sequence.
  struct Emitting {
    const StepSequence* sequence = nullptr;
    int guesses = 0;
  };
  std::vector<Emitting> emitting_;  // without companions
  std::vector<GuidedRow> merged_;   // of each of them
  bool guided_ = false;
  bool tapped_ = false;        // somebody wants rows that the stage taps
  bool scored_ = false;        // somebody wants log-probabilities
  std::vector<float> logits_;  // of a row that is scored
};

}  // namespace syrinx
