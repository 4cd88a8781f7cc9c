// Which parts of what was said before the prompt of a long text's next part hears.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

namespace syrinx {

/// Once `past` has more than `most` rows, only its first parts stay, those that fit half as many
/// and at least one that fits: prompts then go on from the beginning whose rows are cached, a part
/// costs the same however late it comes, and voices are those of the beginning.
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
