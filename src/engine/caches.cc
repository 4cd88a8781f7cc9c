// The caches of sequences: segments begin, beginnings are shared, pages are taken and given back.
#include <algorithm>
#include <vector>

#include "engine/scheduler.h"

namespace syrinx {
namespace {

/// A shorter common beginning is not worth waiting for.
constexpr int kLeastCommonRows = 8;

}  // namespace

void Scheduler::begin_segment(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  const bool first = !run.begun;
  run.begun = true;
  run.told = 0;
  for (int t = 0; t < (run.guided ? 2 : 1); ++t) {
    HeldRows& track = run.tracks[t];
    track.keys.clear();
    track.published = false;
    track.looked = ~uint64_t{0};
    run.sequence->prefix_keys(t == 1, track.keys);
  }
  request.model->metrics.prompt_rows.add(run.sequence->prompt_rows());
  if (first && request.model->graph().writer() == n) {
    request.outcome.prompt_tokens = run.sequence->prompt_rows();
    request.outcome.heard_tokens = run.sequence->heard_rows(run.sequence->prompt_rows());
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

/// Keys of the companion's rows behind its prompt, where its prompt has one for each of its rows.
/// Once more when a cache was taken: there are more steps by then.
void Scheduler::add_companion_steps(ArRun& run) {
  std::vector<uint64_t>& keys = run.tracks[1].keys;
  const int prompt = run.sequence->companion_rows();
  if (std::ssize(keys) < prompt) return;
  keys.resize(prompt);
  run.sequence->step_keys(true, keys);
}

/// Takes what others have computed of this prompt, when something new may be there. A companion
/// takes it when it is needed, with what it is to be fed of steps that were not guided.
void Scheduler::look_for_prefix(Active& request, int n) {
  ArRun& run = *request.runs[n].ar;
  const ResidentNode& node = request.model->nodes[n];
  KvCache& cache = *node.cache;
  for (int t = 0; t < (run.guided ? 2 : 1); ++t) {
    HeldRows& track = run.tracks[t];
    if (track.looked == cache.published() || track.keys.empty() || track.cache.rows > 0 ||
        track.holds()) {
      continue;
    }
    int rows = run.sequence->prompt_rows();
    if (t == 1) {
      rows = run.companion_due(std::ssize(node.ar->traits().vocab));
      if (rows == 0) continue;
      add_companion_steps(run);
    }
    track.looked = cache.published();
    const int found = cache.adopt(track.keys, rows - 1, track.cache);
    if (t == 0) {
      request.model->metrics.prefix_rows.add(found);
      if (request.model->graph().writer() != n || run.total_steps > 0) continue;
      request.outcome.cached_tokens = found;
      request.outcome.cached_heard_tokens = run.sequence->heard_rows(found);
    }
  }
}

/// The place has nothing to do, and nothing was planned of what there is for it. A node of it that
/// stands still has no pages for any of its sequences: for the sake of the oldest takes the pages of
/// one that rests (its reader is slow, its input has not come), or else of the youngest; the loser
/// computes its cache again later (I2).
bool Scheduler::make_room(const Place& place) {
  bool made = false;
  for (int spot = 0; spot < static_cast<int>(spots_.size()); ++spot) {
    ResidentModel& model = *spots_[spot].model;
    const int n = spots_[spot].node;
    const ResidentNode& node = model.nodes[n];
    if (!node.ar || node.steps_in_flight > 0 || !may_step(place, node)) continue;
    const SequenceView* oldest = nullptr;
    for (const Views& views : views_) {
      for (const SequenceView& view : views.sequences) {
        if (view.node == spot && (!oldest || view.order < oldest->order)) oldest = &view;
      }
      if (oldest) break;
    }
    if (!oldest) continue;
    Active& keep = *active_[oldest->slot];
    made = start_alone(keep, n) || make_room(model, n, &keep, true) ||
           make_room(model, n, &keep, false) || made;
  }
  return made;
}

/// A shared page is copied before it is written to, so a sequence or a pair that shares may want
/// more than there is, although it was let in. Then it begins again and shares nothing.
bool Scheduler::start_alone(Active& request, int n) {
  const ResidentNode& node = request.model->nodes[n];
  const KvCache& cache = *node.cache;
  ArRun& run = *request.runs[n].ar;
  if (!run.holds()) return false;
  const Due rows = due(node, run);
  std::vector<int32_t> held;
  int wanted = 0;
  for (int t = 0; t < 2; ++t) {
    const KvHold& hold = run.tracks[t].cache;
    held.insert(held.end(), hold.pages.begin(), hold.pages.end());
    const int more = t == 0 ? rows.rows : rows.companion_rows;
    if (more > 0) wanted += cache.wanted(hold, hold.rows + more);
  }
  std::sort(held.begin(), held.end());
  held.erase(std::unique(held.begin(), held.end()), held.end());
  if (wanted + std::ssize(held) <= cache.total()) return false;
  run.common_rows = 0;
  give_back(request, n);
  return true;
}

/// Takes the pages of a sequence that goes on later.
void Scheduler::give_back(Active& request, int n) {
  drop_cache(request, n);
  // Taking the same prefix again at once would leave nobody any room.
  for (HeldRows& track : request.runs[n].ar->tracks) {
    track.looked = request.model->nodes[n].cache->published();
  }
  request.model->metrics.preemptions.add();
}

bool Scheduler::make_room(ResidentModel& model, int n, const Active* keep, bool resting_only) {
  for (size_t slot = active_.size(); slot-- > 0;) {
    Active& request = *active_[slot];
    if (request.model != &model || &request == keep || !request.runs[n].ar) continue;
    if (keep->background && !request.background) continue;
    ArRun& run = *request.runs[n].ar;
    if (!run.holds() || run.away()) continue;
    if (resting_only && !request.unread && due(model.nodes[n], run).rows > 0) continue;
    give_back(request, n);
    run.gave_way_to = keep->id;
    run.gave_way_at = keep->runs[n].ar->ran();
    return true;
  }
  return false;
}

/// Who gave its pages up is planned again once the older request has run: two that do not fit
/// beside each other would else take them from each other for ever.
void Scheduler::let_older_first() {
  for (Views& views : views_) {
    for (SequenceView& view : views.sequences) view.gives_way = gives_way(view);
  }
  for (Views& views : views_) {
    std::erase_if(views.sequences, [](const SequenceView& view) { return view.gives_way; });
  }
}

bool Scheduler::gives_way(const SequenceView& view) {
  const int n = spots_[view.node].node;
  ArRun& run = *active_[view.slot]->runs[n].ar;
  if (run.gave_way_to == 0) return false;
  for (const Views& views : views_) {
    for (const SequenceView& other : views.sequences) {
      if (other.order != run.gave_way_to || other.node != view.node) continue;
      if (active_[other.slot]->runs[n].ar->ran() == run.gave_way_at) return true;
    }
  }
  run.gave_way_to = 0;
  return false;
}

/// Of the segment before, as far as the new prompt begins like it.
void Scheduler::keep_rows(Active& request, int n, const Verdict& verdict) {
  ArRun& run = *request.runs[n].ar;
  const Sequence& sequence = *run.sequence;
  for (int t = 0; t < 2; ++t) {
    const int prompt = t == 0 ? sequence.prompt_rows() : sequence.companion_rows();
    const int rows = std::clamp(t == 0 ? verdict.kept : verdict.companion_kept, 0, prompt - 1);
    request.model->nodes[n].cache->truncate(run.tracks[t].cache, rows);
  }
  request.model->metrics.prefix_rows.add(run.tracks[0].cache.rows);
}

void Scheduler::drop_cache(Active& request, int n) {
  for (HeldRows& track : request.runs[n].ar->tracks) {
    request.model->nodes[n].cache->release(track.cache);
  }
}

/// Of the sequences that no batch runs.
void Scheduler::drop_caches(Active& request) {
  for (size_t n = 0; n < request.runs.size(); ++n) {
    const ArRun* run = request.runs[n].ar.get();
    if (run && !run->stepping) drop_cache(request, static_cast<int>(n));
  }
}

}  // namespace syrinx
