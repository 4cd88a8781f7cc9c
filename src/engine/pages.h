// The KV cache of one AR node: its memory, which page holds what, and the rows that the sequences
// of that node hold in it. It knows sequences, not requests, models or clients. Engine thread only.
//
// Invariants (CONTRACT.md, I1, I2, I11):
// - every page is free, held by sequences, or a known prefix; after the last sequence has released
//   its rows, available() is total();
// - a sequence's rows change here only: they grow in commit(), shrink in keep() and release();
// - releasing rows changes nothing but time: due() asks for them again.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/runs.h"
#include "model/step.h"

namespace syrinx {

class Pages {
 public:
  /// Memory for `pages` pages on the stage's device; of a stage that is remote it lies there.
  Pages(const ArStage& stage, int pages, bool share_prefixes);

  const KvCache& cache() const { return cache_; }
  int total() const { return cache_.total(); }
  int available() const { return cache_.available(); }
  /// One pool per ArTraits::kv; none of a remote stage.
  std::span<const KvPool> pools() const { return pools_; }
  /// Why the segment of a sequence can never be run here, or nothing. Any thread.
  std::string misfit(const Sequence& sequence) const;

  /// Begins a segment: reads its keys and finds what the companion's prompt has in common.
  void begin_segment(ArRun& run) const;
  /// Takes rows of this prompt that other sequences have computed, when new ones may be there.
  /// Returns the rows that were found for the sequence; -1: it was not looked for.
  int share_prefix(ArRun& run);
  /// Counts the rows of a batch as held; publishes a prompt that is complete.
  void commit(ArRun& run, std::span<const StepSequence> ran);
  /// Keeps what the next segment has in common with the one before it; returns the sequence's rows.
  int keep(ArRun& run, const Verdict& verdict);
  /// Publishes the steps of a sequence that has ended.
  void publish_steps(ArRun& run);

  /// Pages that rows and `drafts` more of the sequence would take.
  int wanted(const ArRun& run, Due due, int drafts = 0) const;
  /// Takes them. Pages are copied at once, or with the next batch of a remote stage.
  void reserve(ArRun& run, Due due, int drafts);
  /// Whether the sequence fits beside nothing that it shares pages with, so that it must begin
  /// again and share nothing: a shared page is copied before it is written to.
  bool must_be_alone(const ArRun& run) const;
  void release(ArRun& run);
  /// Takes the pages of a sequence that goes on later.
  void preempt(ArRun& run);
  /// Swaps the copies that wait for the next batch of a remote stage with an empty list.
  void take_copies(std::vector<PageCopy>& copies) { copies.swap(waiting_copies_); }

 private:
  void reserve(KvHold& hold, int rows);

  const ArStage& stage_;
  const bool share_prefixes_;
  const bool remote_;
  KvCache cache_;
  std::vector<KvPool> pools_;
  std::vector<PageCopy> copies_;          ///< scratch
  std::vector<PageCopy> waiting_copies_;  ///< of a remote stage: they go along with its next batch
};

}  // namespace syrinx
