// Which sequence has the pages of an AR node when there are too few: older requests before younger
// ones, and all others before those in the background. A sequence that loses its pages computes its
// rows again later (CONTRACT.md, I2, I9, I15). Functions over the requests and what could be run of
// them at one moment. Engine thread only.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/policy.h"
#include "engine/roster.h"
#include "engine/slots.h"

namespace syrinx {

enum Urgency { kLive, kBackground };

/// The rows and chunks that requests of one urgency could run.
struct Views {
  std::vector<SequenceView> sequences;
  std::vector<ChunkView> chunks;
  bool empty() const { return sequences.empty() && chunks.empty(); }
  void clear() { sequences.clear(), chunks.clear(); }
};

/// Requests that hold pages, and views of those that want some.
struct PageRivals {
  std::span<const NodeRef> nodes;
  Roster::Requests& requests;    ///< by SequenceView::slot
  std::array<Views, 2>& wanted;  ///< by Urgency
};

/// Leaves out sequences that gave their pages up until the older request has run: two that do not
/// fit beside each other would otherwise take pages from each other without end.
void let_older_first(const PageRivals& rivals);
/// Takes pages of requests in the background where others want them; counts them as free.
void take_from_background(const PageRivals& rivals, Snapshot& snapshot);
/// Leaves out sequences in the background that would take more pages than all of them may hold. The
/// oldest that can go on is never left out, so that it ends and makes room.
void bound_background(const PageRivals& rivals);
/// Called when the slot is idle and no work for it was planned. A node that stands still then has
/// no pages for any of its sequences: takes the pages of a resting sequence (its reader is slow, or
/// its input has not come), or else of the youngest, for the oldest. Returns true if it must be
/// planned again.
bool make_room(const PageRivals& rivals, const ExecutorSlots& slots, const ExecutorSlot& slot);

}  // namespace syrinx
