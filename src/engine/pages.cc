#include "engine/pages.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {
namespace {

/// A companion waits for the common first rows of both prompts only if they are at least this many.
constexpr int kLeastCommonRows = 8;

/// Appends keys for the companion's rows after its prompt, if every row of its prompt has a key.
/// Called again after a preemption, because more steps exist then.
void add_companion_steps(ArRun& run) {
  std::vector<uint64_t>& keys = run.tracks[1].keys;
  const int prompt = run.sequence->companion_rows();
  if (std::ssize(keys) < prompt) return;
  keys.resize(prompt);
  run.sequence->step_keys(true, keys);
}

}  // namespace

Pages::Pages(const ArStage& stage, int pages, bool share_prefixes)
    : stage_(stage),
      share_prefixes_(share_prefixes),
      remote_(stage.remote()),
      cache_(pages, KvPool::kPageRows) {
  if (remote_) return;
  for (const KvSpec& spec : stage.traits().kv) pools_.emplace_back(spec, pages, stage.device());
}

std::string Pages::misfit(const Sequence& sequence) const {
  const int64_t sequences = is_guided(sequence) ? 2 : 1;
  const int64_t needed =
      std::max(sequence.prompt_rows(), sequence.companion_rows()) + int64_t{sequence.max_steps()};
  const int64_t room = std::min<int64_t>(stage_.traits().max_positions,
                                         total() / sequences * int64_t{KvPool::kPageRows});
  if (needed <= room) return {};
  return concat("the text may need ", needed, " positions, but there is room for ", room);
}

// ---------------------------------------------------------------------------- segments

void Pages::begin_segment(ArRun& run) const {
  run.begun = true;
  run.tapped = 0;
  for (int t = 0; t < run.track_count(); ++t) {
    HeldRows& track = run.tracks[t];
    track.keys.clear();
    track.published = false;
    track.looked = ~uint64_t{0};
    run.sequence->prefix_keys(t == 1, track.keys);
  }
  run.common_rows = 0;
  if (!run.guided) return;
  const std::vector<uint64_t>&a = run.tracks[0].keys, &b = run.tracks[1].keys;
  const int most = std::min({static_cast<int>(std::min(a.size(), b.size())),
                             run.sequence->prompt_rows() - 1, run.sequence->companion_rows() - 1});
  int common = 0;
  while (common < most && a[common] == b[common]) ++common;
  if (common >= kLeastCommonRows) run.common_rows = common;
}

/// A companion shares its prefix later, when its rows are due, because the prefix may then contain
/// steps without guidance.
int Pages::share_prefix(ArRun& run) {
  int found = -1;
  if (!share_prefixes_) return found;
  for (int t = 0; t < run.track_count(); ++t) {
    HeldRows& track = run.tracks[t];
    if (track.looked == cache_.published() || track.keys.empty() || track.cache.rows > 0 ||
        track.holds()) {
      continue;
    }
    int rows = run.sequence->prompt_rows();
    if (t == 1) {
      rows = run.companion_due();
      if (rows == 0) continue;
      add_companion_steps(run);
    }
    track.looked = cache_.published();
    const int shared = cache_.adopt(track.keys, rows - 1, track.cache);
    if (t == 0) found = shared;
  }
  return found;
}

void Pages::commit(ArRun& run, std::span<const StepSequence> ran) {
  for (const StepSequence& seq : ran) {
    HeldRows& track = run.tracks[seq.companion ? 1 : 0];
    track.cache.rows += seq.rows - seq.drafts;
    if (!share_prefixes_ || track.published || track.keys.empty()) continue;
    if (track.cache.rows < static_cast<int>(track.keys.size())) continue;
    cache_.publish(track.keys, track.cache);
    track.published = true;
  }
  if (run.common_rows > 0 && run.tracks[1].cache.rows == 0 &&
      run.tracks[0].cache.rows >= run.common_rows) {
    cache_.fork(run.tracks[0].cache, run.tracks[1].cache);
    cache_.truncate(run.tracks[1].cache, run.common_rows);
  }
}

int Pages::keep(ArRun& run, const Verdict& verdict) {
  const Sequence& sequence = *run.sequence;
  for (int t = 0; t < 2; ++t) {
    const int prompt = t == 0 ? sequence.prompt_rows() : sequence.companion_rows();
    const int rows = std::clamp(t == 0 ? verdict.kept : verdict.companion_kept, 0, prompt - 1);
    cache_.truncate(run.tracks[t].cache, rows);
  }
  return run.tracks[0].cache.rows;
}

void Pages::publish_steps(ArRun& run) {
  HeldRows& track = run.tracks[0];
  const size_t prompt = track.keys.size();
  if (track.published) run.sequence->step_keys(false, track.keys);
  if (track.keys.size() > prompt) cache_.publish(track.keys, track.cache);
}

// ---------------------------------------------------------------------------- pages

int Pages::wanted(const ArRun& run, Due due, int drafts) const {
  const KvHold &own = run.tracks[0].cache, &companion = run.tracks[1].cache;
  int pages = cache_.wanted(own, own.rows + due.rows + drafts);
  if (due.companion_rows > 0) {
    pages += cache_.wanted(companion, companion.rows + due.companion_rows);
  }
  return pages;
}

void Pages::reserve(KvHold& hold, int rows) {
  SYRINX_CHECK(cache_.reserve(hold, rows, copies_), "a plan needs more pages than the cache has");
}

void Pages::copy_pages(std::vector<PageCopy>& remote) {
  if (remote_) return remote.swap(copies_);
  for (const PageCopy& copy : copies_) {
    for (const KvPool& pool : pools_) pool.copy_page(copy.from, copy.to);
  }
  copies_.clear();
}

void Pages::reserve(ArRun& run, Due due, int drafts) {
  KvHold &own = run.tracks[0].cache, &companion = run.tracks[1].cache;
  reserve(own, own.rows + due.rows + drafts);
  if (due.companion_rows > 0) reserve(companion, companion.rows + due.companion_rows);
}

bool Pages::must_be_alone(const ArRun& run) const {
  if (!run.holds()) return false;
  const Due due = run.due();
  std::vector<int32_t> held;
  int wanted = 0;
  for (int t = 0; t < 2; ++t) {
    const KvHold& hold = run.tracks[t].cache;
    held.insert(held.end(), hold.pages.begin(), hold.pages.end());
    const int more = t == 0 ? due.rows : due.companion_rows;
    if (more > 0) wanted += cache_.wanted(hold, hold.rows + more);
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  return wanted + std::ssize(held) > total();
}

void Pages::release(ArRun& run) {
  for (HeldRows& track : run.tracks) cache_.release(track.cache);
}

void Pages::preempt(ArRun& run) {
  release(run);
  // Prevents the sequence from taking the prefix again, because that leaves no room for others.
  for (HeldRows& track : run.tracks) track.looked = cache_.published();
}

}  // namespace syrinx
