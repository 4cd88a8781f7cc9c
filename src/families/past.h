// Chooses the spoken parts of a long text that stay in the prompt of its next part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace syrinx {

/// Shortens `past` if it has more than `most` rows: keeps only its first parts, with at most half
/// of `most` rows, but at least one part if it fits. So prompts begin with cached rows, late parts
/// cost no more than early ones, and the voice does not drift.
template <typename Part, typename RowsOf>
void back_to_the_beginning(std::deque<Part>& past, int64_t most, RowsOf rows_of) {
  int64_t all = 0, first = 0;
  size_t kept = 0;
  for (const Part& part : past) all += rows_of(part);
  if (all <= most) return;
  for (const Part& part : past) {
    first += rows_of(part);
    if (first > (kept == 0 ? most : most / 2)) break;
    ++kept;
  }
  past.erase(past.begin() + static_cast<std::ptrdiff_t>(kept), past.end());
}

}  // namespace syrinx
