// The positions and pages that each part of paged attention processes, and the order in which
// partial results are joined. The order is the same for prefill and decoding, in any batch. Plain
// arithmetic, shared by host and device.
#pragma once

#include <cstdint>

namespace syrinx::cuda {

/// A warp processes a page, a block processes a group of pages; groups are joined in order. Groups
/// begin at fixed positions, so the order of a row's sums depends only on its own positions.
constexpr int kPage = 32, kGroupPages = 4, kGroupPositions = kPage * kGroupPages;

constexpr int64_t group_of(int64_t position) { return position / kGroupPositions; }

/// The positions [first, last) to which the query at `position` attends.
struct Seen {
  int64_t first = 0, last = 0;
};
constexpr Seen seen(int64_t position, int64_t kv_len, int window, bool causal, int64_t begin = 0,
                    int64_t end = INT64_MAX) {
  const int64_t first = window == 0 ? 0 : position + 1 - window;
  const int64_t last = causal ? position + 1 : kv_len;
  return {first < begin ? begin : first, last < end ? last : end};
}

/// Returns the position whose whole score a lane gets. In a pass, lane l sums dimension l / 4 (of
/// 8) of the positions 8 (l % 4) .. + 7. Then three exchanges follow. Each exchange halves the
/// positions of a lane, so one position remains.
constexpr int lane_position(int lane) {
  return lane % 4 * 8 + (lane >> 4 & 1) * 4 + (lane >> 3 & 1) * 2 + (lane >> 2 & 1);
}

}  // namespace syrinx::cuda
