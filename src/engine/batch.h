// One batch of one stage: inputs that the engine laid out, and results that an executor wrote. The
// batch owns both. While it runs, it uses no other part of a request, except the Sequence of an AR
// batch. It has a pointer to its stage, so executors do not depend on models. Batches are reused; a
// warm batch allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/lane.h"
#include "engine/policy.h"
#include "model/pipeline.h"
#include "model/step.h"

namespace syrinx {

struct Active;
struct ResidentModel;

class Batch : public StepResults {
 public:
  /// Makes room for batches of up to `sequences` sequences of an AR stage, of `pages` pages each.
  void warm_steps(int sequences, int pages);
  /// Makes room for batches of up to `streams` chunks of a stage that is fed under `policy`.
  void warm_chunks(int streams, const ChunkStage& stage, const ChunkPolicy& policy);

  /// Begins an AR batch of sequences with at most `table_width` pages each, from the cache `kv`
  /// (one pool per ArTraits::kv). The page table gets the next power of two as its width, so that
  /// steps keep their shape while sequences grow.
  void begin_step(const ArStage& stage, std::span<const KvPool> kv, int table_width);
  /// Adds a sequence; copies `pages` and `guesses`.
  void add(const StepSequence& sequence, std::span<const int32_t> pages,
           std::span<const int32_t> guesses = {});
  /// Returns the guesses of all sequences, in order.
  std::span<const int32_t> guesses() const { return guesses_; }

  /// Begins a batch of chunks.
  void begin_chunks(const ChunkStage& stage);
  /// Adds a chunk; copies the frames of `window`.
  void add(StreamState* state, const Frames& window, const ChunkCut& cut);
  /// Completes the inputs; afterwards jobs() may be run.
  void seal_chunks();

  Plan::Kind kind() const { return kind_; }
  const ArStage& ar() const { return *ar_; }
  std::span<const KvPool> kv() const { return kv_; }
  const ChunkStage& stage() const { return *stage_; }
  Device device() const { return kind_ == Plan::kAr ? ar_->device() : stage_->device(); }

  std::span<const StepSequence> sequences() const { return sequences_; }
  /// Returns the number of rows of all sequences, or of new frames of all jobs.
  int units() const { return units_; }
  int table_width() const { return table_width_; }
  std::span<const int32_t> page_table() const { return page_table_; }

  std::span<ChunkJob> jobs() { return jobs_; }

  /// The request of each sequence or job, by index. Only the engine reads it.
  std::vector<Active*> owners;
  ResidentModel* model = nullptr;
  int node = 0;             ///< number of the node in the model's graph
  int executor = 0;         ///< number of the executor slot that runs the batch
  bool background = false;  ///< the requests of the batch are in the background

  /// Returns the rows of an AR batch as the stage reads them.
  Step step() const {
    return {sequences_, units_, page_table_, table_width_, kv_, copies, cache_pages};
  }
  // Only for an AR stage in another process: pages that the stage copies before the step, and the
  // number of pages of its cache.
  std::vector<PageCopy> copies;
  int cache_pages = 0;

  // Results that the executor writes. Results of a step are in StepResults.
  std::string fault;                ///< message of an exception from the stage; empty: no fault
  bool replayed = false;            ///< a GPU replayed a recorded batch (Stream::repeat)
  bool recalled = false;            ///< the replay did not run the stage's code (Stream::repeat_as)
  double began_s = 0, ended_s = 0;  ///< start and end of its run

  std::span<const int32_t> codes_of(int e) const {
    return std::span(codes).subspan(static_cast<size_t>(e) * codes_per_step, codes_per_step);
  }
  std::span<const float> values_of(int e) const {
    const size_t width = ar_->traits().values;
    return std::span(values).subspan(e * width, width);
  }

 private:
  Plan::Kind kind_ = Plan::kIdle;
  int units_ = 0;
  const ArStage* ar_ = nullptr;
  std::span<const KvPool> kv_;
  const ChunkStage* stage_ = nullptr;
  std::vector<StepSequence> sequences_;
  int table_width_ = 0;
  std::vector<int32_t> page_table_;
  std::vector<int32_t> guesses_;
  std::vector<ChunkJob> jobs_;
  std::vector<int32_t> window_codes_;
  std::vector<float> window_values_, samples_;
};

}  // namespace syrinx
