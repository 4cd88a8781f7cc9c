// A whole step of an AR stage: rows of many sequences run, codes are drawn, and the requested
// scores, values and taps are fetched. Plain values, so a step can run in any process. E: rows that
// are sampled, one for each sequence that yields a step (a guidance pair counts once), and one for
// each of its guesses. K: codes of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "kernels/guidance.h"
#include "kernels/sample.h"
#include "kernels/step_draws.h"
#include "model/sequence.h"
#include "model/stage.h"

namespace syrinx {

/// A copy of the rows of cache page `from`, made before a step writes further rows to page `to`.
struct PageCopy {
  int32_t from = 0, to = 0;
};

/// One sequence of a step. A companion directly follows the sequence that it belongs to.
struct StepSequence {
  Sequence* state = nullptr;
  int first_pos = 0;
  int rows = 1;
  bool emits = true;
  int drafts = 0;  ///< number of its last rows that are guesses, which also yield steps
  bool companion = false;
  bool guided = false;  ///< its companion follows, and also yields a step
  uint64_t seed = 0;
  uint32_t step = 0;  ///< number of the step within the request, over all segments
  int scores = -1;    ///< Sequence::scores()
  bool taps = false;  ///< whether its rows are requested in StepResults::taps
};

/// The inputs of a step; borrowed for one call.
struct Step {
  std::span<const StepSequence> sequences;
  int rows = 0;                         ///< number of rows of all sequences
  std::span<const int32_t> page_table;  ///< [sequences, table_width]
  int table_width = 0;
  std::span<const KvPool> kv;  ///< one pool per ArTraits::kv; empty for a remote stage
  // The two fields below are for remote stages, whose process has the cache.
  std::span<const PageCopy> copies = {};  ///< copies to make before the step
  int pages = 0;                          ///< number of pages of the cache
};

/// The results of a step, for the E rows that were sampled.
struct StepResults {
  int codes_per_step = 0;
  std::vector<int32_t> codes;        ///< [E, K]
  std::vector<SampleStatus> status;  ///< [E], the first error among the codes of a row
  std::vector<StepScores> scores;    ///< [E], for rows that requested scores; may be empty
  std::vector<float> values;         ///< [E, ArTraits::values]
  /// [rows, ArTraits::tap] of the sequences whose taps are requested, in order
  std::vector<float> taps;
  /// [sequences], the error of each sequence that has failed. Empty: no sequence has failed.
  std::vector<std::optional<Error>> faults;
};

/// Returns the number of rows with which a GPU runs a decode step of `rows` sequences, so that few
/// recordings serve all steps.
constexpr int step_bucket(int rows) {
  const int grain = rows <= 4 ? 1 : rows <= 16 ? 4 : rows <= 64 ? 8 : 16;
  return (rows + grain - 1) / grain * grain;
}

/// Hooks for tests that look into steps; the engine sets none.
struct StepOptions {
  /// draw the largest logit after the rules, whatever sampling a request specifies
  bool greedy = false;
  /// Called with logits f32 [sampled rows, vocab[k]] of code k: after guidance, before any rule.
  /// The logits are on the context's device. Unset: not called.
  std::function<void(StepContext& ctx, int k, View logits)> watch = {};
};

/// Runs steps of stages in this process. One thread at a time. After the first steps it does not
/// allocate on the CPU, unless a step has scores.
class StepWork {
 public:
  explicit StepWork(StepOptions options = {}) : options_(std::move(options)) {}

  /// Runs a step. On a GPU, all queued work has ended at return. Throws what the stage throws.
  void run(StepContext& ctx, const ArStage& ar, const Step& step, StepResults& out);

 private:
  /// A row that yields a step, after `guesses` guesses of its sequence.
  struct Emitting {
    const StepSequence* sequence = nullptr;
    int guesses = 0;
  };
  /// The numbers of a step on a GPU, in one piece of host memory: the batch's ragged arrays, those
  /// of ArStage::fill(), the guided rows of each code, and the draws. In bytes.
  struct Block {
    size_t filled = 0, merging = 0, draws = 0, end = 0;
    char* memory = nullptr;
  };

  int lay_out(const Step& step);
  int pad(int emits);
  void set_draws(const ArTraits& traits);
  void set_scales(int per_step);
  SampleRow draw_of(const Emitting& emitting, int k) const;
  void place_block(int filled);
  void write_block();
  void run_on_gpu(StepContext& ctx, const ArStage& ar, const Step& step, int emits, bool repeats,
                  StepResults& out);
  bool name_step(StepContext& ctx, const ArStage& ar, const Step& step, int emits);
  void queue(StepContext& ctx, const ArStage& ar, const Step& step, int emits, StepResults& out);
  void sample_code(StepContext& ctx, int k, View logits, View codes, View status);
  void fetch_values(StepContext& ctx, const ArStage& ar, const ArBatch& rows, View hidden,
                    View codes, StepResults& out);
  void fetch_taps(StepContext& ctx, const Step& step, View taps, StepResults& out);
  void score(StepContext& ctx, View logits, View codes);
  void list_best(StepContext& ctx, View logits, StepResults& out);
  void read_results(StepResults& out);

  const StepOptions options_;

  // Buffers of the running step. They are members so that their memory is reused.
  std::vector<ArSeq> seqs_;
  std::vector<int32_t> row_begin_, kv_len_, padded_pages_;
  std::span<const int32_t> pages_;  // the step's page table, or padded_pages_
  std::vector<int32_t> results_;    // codes [E, K], then statuses [rows without companions, K]
  std::vector<SampleRow> rows_;
  std::vector<Emitting> emitting_;  // without companions
  std::vector<GuidedRow> merged_;   // [emitting_]
  std::vector<GuidedRow> merging_;  // [K, emitting_], with scales; only if guided_
  StepDraws draws_;                 // used on a GPU only
  Block block_;                     // used on a GPU only
  std::span<int32_t> filled_;       // in block_; empty: ArStage::fill() did not write it
  std::vector<uint64_t> key_;       // key of Stream::repeat_as()
  size_t live_ = 0;                 // rows of emitting_ that are not copies
  bool guided_ = false;
  bool tapped_ = false;        // whether any row is tapped
  bool scored_ = false;        // whether any row requested log-probabilities
  bool listed_ = false;        // whether any row requested alternatives to its id
  std::vector<float> scores_;  // log-probability of each row's id; only if scored_
  std::vector<float> logits_;  // logits of the row whose alternatives are listed
};

}  // namespace syrinx
