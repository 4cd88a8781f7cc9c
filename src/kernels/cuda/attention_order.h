// Which positions and pages a part of paged attention covers, and in which order partial results
// are joined: the same for prefill and decode, whatever the batch. Plain arithmetic, shared by host
// and device.
#pragma once

#include <cstdint>

namespace syrinx::cuda {

/// A page is one warp's work, a group of pages one block's; groups are joined in order. Groups
/// begin at fixed positions, so the tree of sums of a row depends on its own positions alone.
constexpr int kPage = 32, kGroupPages = 4, kGroupPositions = kPage * kGroupPages;

constexpr int64_t group_of(int64_t position) { return position / kGroupPositions; }

/// Positions [first, last) that the query at `position` sees.
struct Seen {
  int64_t first = 0, last = 0;
};
constexpr Seen seen(int64_t position, int64_t kv_len, int window, bool causal, int64_t begin = 0,
                    int64_t end = INT64_MAX) {
  const int64_t first = window == 0 ? 0 : position + 1 - window;
  const int64_t last = causal ? position + 1 : kv_len;
  return {first < begin ? begin : first, last < end ? last : end};
}

/// Scores: in a pass lane l adds up dimension l / 4 (of 8) of positions 8 (l % 4) .. + 7; three
/// exchanges that halve the positions leave it the whole sum of this one.
constexpr int lane_position(int lane) {
  return lane % 4 * 8 + (lane >> 4 & 1) * 4 + (lane >> 3 & 1) * 2 + (lane >> 2 & 1);
}

}  // namespace syrinx::cuda
