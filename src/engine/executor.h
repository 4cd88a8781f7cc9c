// Runs batches of any stage of one pipeline on this machine's cores: owns the thread pool, the
// scratch memory and the memory of the KV cache. Knows no requests, only what a batch needs of
// them. Engine thread only. A warm executor does not allocate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/pipeline.h"

namespace syrinx {

/// One sequence of an AR batch.
struct StepSequence {
  RequestState* state = nullptr;
  std::span<const int32_t> pages;  ///< enough for first_pos + rows positions
  int first_pos = 0;
  int rows = 1;
  bool emits = true;
  uint64_t seed = 0;
  uint32_t step = 0;  ///< of the request, over all segments
};

class Executor {
 public:
  /// `threads` as in ThreadPool; `pages` of the KV cache, allocated here; at most `max_batch`
  /// sequences in a step.
  Executor(const Pipeline& pipeline, int threads, int64_t pages, int max_batch);

  /// Runs a step and samples a code row for every sequence that emits.
  void run_step(std::span<const StepSequence> sequences);
  /// Results of the last run_step(), e = 0 .. emits - 1 in batch order; status is the first fault
  /// among the row's codes.
  std::span<const int32_t> codes(int e) const;
  SampleStatus status(int e) const { return status_[e]; }

  /// Fresh scratch for the outputs of the chunks that follow; ends the life of earlier ones.
  void begin_chunks() { arena_.reset(); }
  std::span<float> take(int64_t count) {
    return {arena_.take({count}, DType::kF32).f32(), static_cast<size_t>(count)};
  }
  void run_chunks(const ChunkStage& stage, std::span<ChunkJob> jobs);

  size_t kv_bytes() const { return kv_bytes_; }

 private:
  int lay_out(std::span<const StepSequence> sequences);
  void sample_code(int k, View logits, View codes);

  const ArStage& ar_;
  ThreadPool pool_;
  Arena arena_;
  std::vector<KvPool> kv_;
  size_t kv_bytes_ = 0;

  // The batch being run; kept to reuse their memory.
  std::vector<ArSeq> seqs_;
  std::vector<int32_t> row_begin_, kv_len_, page_table_, ids_, codes_;
  std::vector<SampleRow> rows_;
  std::vector<SampleStatus> status_, code_status_;
  std::vector<const StepSequence*> emitting_;
  int table_width_ = 0;
};

}  // namespace syrinx
