// Decides which sequences keep the pages of an AR node when pages are too few. Older requests come
// before younger ones, and live requests before requests in the background. A sequence without its
// pages computes its rows again later (CONTRACT.md, I2, I9, I15). All functions read the requests
// and their views at one moment. Engine thread only.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "engine/policy.h"
#include "engine/roster.h"
#include "engine/slots.h"

namespace syrinx {

enum Urgency { kLive, kBackground };

/// The rows and chunks that could run now: of live requests, or of requests in the background.
struct Views {
  std::vector<SequenceView> sequences;
  std::vector<ChunkView> chunks;
  bool empty() const { return sequences.empty() && chunks.empty(); }
  void clear() { sequences.clear(), chunks.clear(); }
};

/// All requests, and the views of requests that need pages.
struct PageRivals {
  std::span<const NodeRef> nodes;
  Roster::Requests& requests;    ///< indexed by SequenceView::slot
  std::array<Views, 2>& wanted;  ///< indexed by Urgency
};

/// Removes the views of sequences that want pages of a node, until the oldest one, for which
/// make_room() took pages, has run. Otherwise two sequences that do not fit together would take
/// each other's pages forever. A live request never waits for a request in the background.
void let_oldest_first(const PageRivals& rivals);
/// Takes pages of requests in the background when live requests need them, and adds them to the
/// snapshot's free pages.
void take_from_background(const PageRivals& rivals, Snapshot& snapshot);
/// Removes the views of sequences in the background that would exceed the background's share of
/// pages. Keeps the view of the oldest one that can run, so that it ends and frees pages.
void bound_background(const PageRivals& rivals);
/// Call this when the slot is idle and no work for it was planned. If a node has too few pages for
/// all of its waiting sequences, frees pages for the oldest one. Takes the pages from a resting
/// sequence (its reader is slow, or its input is late), or else from the youngest one. Returns
/// whether the slot must be planned again.
bool make_room(const PageRivals& rivals, const ExecutorSlots& slots, const ExecutorSlot& slot);

}  // namespace syrinx
