#include "engine/preemption.h"

#include <algorithm>

namespace syrinx {
namespace {

/// Returns the request's run of an AR node if it holds pages of that node, else null.
ArRun* holder(Active& request, const NodeRef& node) {
  if (request.model != node.model || request.runs.empty()) return nullptr;
  ArRun* run = request.runs[node.node].ar.get();
  return run && run->holds() ? run : nullptr;
}

void preempt(const NodeRef& node, ArRun& run) {
  node.get().pages->preempt(run);
  node.model->metrics.preemptions.add();
}

ArRun& run_of(const PageRivals& rivals, const SequenceView& view) {
  return *rivals.requests[view.slot]->runs[rivals.nodes[view.node].node].ar;
}

/// Returns whether any sequence has lost pages and still waits.
bool any_lost(const PageRivals& rivals) {
  const auto lost = [&](const SequenceView& view) { return run_of(rivals, view).gave_way_to != 0; };
  return std::ranges::any_of(rivals.wanted, [&](const Views& views) {
    return std::ranges::any_of(views.sequences, lost);
  });
}

/// Takes the pages of the youngest sequence that may lose its pages to `keep`.
bool take_from_youngest(const PageRivals& rivals, const NodeRef& node, const Active& keep,
                        bool resting_only) {
  for (size_t slot = rivals.requests.size(); slot-- > 0;) {
    Active& request = *rivals.requests[slot];
    ArRun* run = holder(request, node);
    if (!run || &request == &keep || run->remote()) continue;
    if (keep.background() && !request.background()) continue;
    if (resting_only && !request.output.unread() && run->due().rows > 0) continue;
    preempt(node, *run);
    run->gave_way_to = keep.id;
    run->gave_way_at = keep.runs[node.node].ar->ran();
    return true;
  }
  return false;
}

}  // namespace

bool gives_way(const PageLoss& loss, const Contender& sequence, std::span<const Contender> wanted) {
  return std::ranges::any_of(wanted, [&](const Contender& other) {
    return loss.to != 0 && other.order == loss.to && other.node == sequence.node &&
           other.urgency <= sequence.urgency && other.ran == loss.ran;
  });
}

void let_older_first(const PageRivals& rivals) {
  if (!any_lost(rivals)) return;
  std::vector<Contender> wanted;
  for (const Urgency urgency : {kLive, kBackground}) {
    for (const SequenceView& view : rivals.wanted[urgency].sequences) {
      wanted.push_back({view.order, view.node, urgency, run_of(rivals, view).ran()});
    }
  }
  size_t at = 0;
  for (Views& views : rivals.wanted) {
    for (SequenceView& view : views.sequences) {
      ArRun& run = run_of(rivals, view);
      view.gives_way = gives_way({run.gave_way_to, run.gave_way_at}, wanted[at++], wanted);
      if (!view.gives_way) run.gave_way_to = 0;
    }
  }
  for (Views& views : rivals.wanted) {
    std::erase_if(views.sequences, [](const SequenceView& view) { return view.gives_way; });
  }
}

void take_from_background(const PageRivals& rivals, Snapshot& snapshot) {
  for (const SequenceView& view : rivals.wanted[kLive].sequences) {
    NodeView& node = snapshot.nodes[view.node];
    const NodeRef& ref = rivals.nodes[view.node];
    for (size_t slot = rivals.requests.size(); slot-- > 0 && view.pages_wanted > node.pages_free;) {
      Active& request = *rivals.requests[slot];
      ArRun* run = request.background() ? holder(request, ref) : nullptr;
      if (!run || run->remote()) continue;
      preempt(ref, *run);
      std::erase_if(rivals.wanted[kBackground].sequences, [&](const SequenceView& its) {
        return its.slot == static_cast<int>(slot) && its.node == view.node;
      });
      node.pages_free = ref.get().pages->available();
    }
  }
}

void bound_background(const PageRivals& rivals) {
  std::vector<SequenceView>& views = rivals.wanted[kBackground].sequences;
  for (int n = 0; n < std::ssize(rivals.nodes); ++n) {
    const NodeRef& ref = rivals.nodes[n];
    const double share = ref.model->options.background_pages;
    if (!ref.get().ar || share >= 1) continue;
    const int most = static_cast<int>(share * ref.get().pages->total());
    const auto first = std::ranges::find(views, n, &SequenceView::node);
    int held = 0, oldest = first == views.end() ? -1 : first->slot;
    for (int slot = 0; slot < std::ssize(rivals.requests); ++slot) {
      Active& request = *rivals.requests[slot];
      const ArRun* run = request.background() ? holder(request, ref) : nullptr;
      if (!run) continue;
      if (run->stepping) oldest = std::min(oldest, slot);
      for (const HeldRows& track : run->tracks) held += static_cast<int>(track.cache.pages.size());
    }
    std::erase_if(views, [&](const SequenceView& view) {
      if (view.node != n) return false;
      if (view.slot != oldest && held + view.pages_wanted > most) return true;
      held += view.pages_wanted;
      return false;
    });
  }
}

bool make_room(const PageRivals& rivals, const ExecutorSlots& slots, const ExecutorSlot& slot) {
  bool made = false;
  for (int n = 0; n < std::ssize(rivals.nodes); ++n) {
    const NodeRef& ref = rivals.nodes[n];
    const ResidentNode& node = ref.get();
    if (!node.ar || node.steps_in_flight > 0 || !slots.runs(slot, node)) continue;
    const SequenceView* oldest = nullptr;
    for (const Views& views : rivals.wanted) {
      for (const SequenceView& view : views.sequences) {
        if (view.node == n && (!oldest || view.order < oldest->order)) oldest = &view;
      }
      if (oldest) break;
    }
    if (!oldest) continue;
    const Active& keep = *rivals.requests[oldest->slot];
    ArRun& run = run_of(rivals, *oldest);
    if (node.pages->must_be_alone(run)) {
      run.common_rows = 0;
      preempt(ref, run);
      made = true;
      continue;
    }
    made = take_from_youngest(rivals, ref, keep, true) ||
           take_from_youngest(rivals, ref, keep, false) || made;
  }
  return made;
}

}  // namespace syrinx
