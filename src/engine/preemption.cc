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

/// Takes the pages of the youngest sequence of the node that `may` lose them. Returns the slot of
/// its request, or -1.
int take_from_youngest(const PageRivals& rivals, const NodeRef& node,
                       FunctionRef<bool(const Active&, const ArRun&)> may) {
  for (int slot = static_cast<int>(rivals.requests.size()); slot-- > 0;) {
    Active& request = *rivals.requests[slot];
    ArRun* run = holder(request, node);
    if (!run || run->remote() || !may(request, *run)) continue;
    preempt(node, *run);
    return slot;
  }
  return -1;
}

}  // namespace

void let_oldest_first(const PageRivals& rivals) {
  for (int n = 0; n < std::ssize(rivals.nodes); ++n) {
    ResidentNode& node = rivals.nodes[n].get();
    if (node.kept_for == 0) continue;
    bool waits = false;
    for (Views& views : rivals.wanted) {
      waits = waits || std::ranges::any_of(views.sequences, [&](const SequenceView& view) {
                return view.node == n && rivals.requests[view.slot]->id == node.kept_for &&
                       run_of(rivals, view).ran() == node.kept_at;
              });
      std::erase_if(views.sequences, [&](const SequenceView& view) {
        return waits && view.node == n && view.pages_wanted > 0 &&
               rivals.requests[view.slot]->id != node.kept_for;
      });
    }
    if (!waits) node.kept_for = 0;
  }
}

void take_from_background(const PageRivals& rivals, Snapshot& snapshot) {
  for (const SequenceView& view : rivals.wanted[kLive].sequences) {
    NodeView& node = snapshot.nodes[view.node];
    const NodeRef& ref = rivals.nodes[view.node];
    while (view.pages_wanted > node.pages_free) {
      const int slot = take_from_youngest(
          rivals, ref, [](const Active& request, const ArRun&) { return request.background(); });
      if (slot < 0) break;
      std::erase_if(rivals.wanted[kBackground].sequences, [&](const SequenceView& its) {
        return its.slot == slot && its.node == view.node;
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
        if (view.node == n && (!oldest || view.slot < oldest->slot)) oldest = &view;
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
    for (const bool resting_only : {true, false}) {
      const auto may = [&](const Active& request, const ArRun& holds) {
        if (&request == &keep || (keep.background() && !request.background())) return false;
        return !resting_only || request.output.unread() || holds.due().rows == 0;
      };
      if (take_from_youngest(rivals, ref, may) < 0) continue;
      ref.get().kept_for = keep.id;
      ref.get().kept_at = run.ran();
      made = true;
      break;
    }
  }
  return made;
}

}  // namespace syrinx
