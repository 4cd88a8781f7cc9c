// The KV cache of one AR node: its memory, the contents of its pages, and the rows that the node's
// sequences have in it. The class uses sequences, but no requests or models. Engine thread only.
//
// Invariants (CONTRACT.md, I1, I2, I11):
// - every page is free, held by sequences, or part of a known prefix; when no sequence holds rows,
//   available() is total();
// - only this class changes a sequence's rows: they grow in commit(), shrink in keep() and
// release();
// - releasing rows changes only the time: ArRun::due() then contains them again.
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
  /// Allocates `pages` pages on the stage's device. For a remote stage, its process allocates them.
  Pages(const ArStage& stage, int pages, bool share_prefixes);

  const KvCache& cache() const { return cache_; }
  int total() const { return cache_.total(); }
  int available() const { return cache_.available(); }
  /// Returns one pool per ArTraits::kv; empty for a remote stage.
  std::span<const KvPool> pools() const { return pools_; }
  /// Returns why the segment of a sequence can never fit into this cache. Empty string if it can
  /// fit. Any thread.
  std::string misfit(const Sequence& sequence) const;

  /// Begins a segment: reads its prefix keys and counts the common first rows of both prompts.
  void begin_segment(ArRun& run) const;
  /// Shares rows of the prompts that other sequences have computed. Searches only for prompts
  /// without rows in the cache, and only if new prefixes were published. Returns the number of
  /// shared rows of the sequence (not its companion), or -1 if it did not search.
  int share_prefix(ArRun& run);
  /// Adds the rows of a batch to the held rows; publishes a complete prompt as a prefix.
  void commit(ArRun& run, std::span<const StepSequence> ran);
  /// Keeps the rows that the next segment has in common with the ended one. Returns how many rows
  /// of the sequence were kept.
  int keep(ArRun& run, const Verdict& verdict);
  /// Publishes the steps of a sequence that has ended.
  void publish_steps(ArRun& run);

  /// Returns the number of pages that the due rows and the `drafts` guesses after them would need.
  int wanted(const ArRun& run, Due due, int drafts = 0) const;
  /// Reserves the pages that wanted() counts. Shared pages among them must be copied before the
  /// next step: copy_pages().
  void reserve(ArRun& run, Due due, int drafts);
  /// Copies these pages. For a remote stage, moves the copies into `remote` instead, which must be
  /// empty.
  void copy_pages(std::vector<PageCopy>& remote);
  /// Returns whether the cache is too small for the sequence's pages plus the pages that it needs,
  /// including copies of shared pages. If so, the sequence must begin again without shared pages.
  bool must_be_alone(const ArRun& run) const;
  void release(ArRun& run);
  /// Removes the pages of a sequence, which computes its rows again later.
  void preempt(ArRun& run);

 private:
  void reserve(KvHold& hold, int rows);

  const ArStage& stage_;
  const bool share_prefixes_;
  const bool remote_;
  KvCache cache_;
  std::vector<KvPool> pools_;
  std::vector<PageCopy> copies_;  ///< copies to be made before the next step
};

}  // namespace syrinx
