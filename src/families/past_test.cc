// What a prompt still hears of a long text.
#include "families/past.h"

#include <gtest/gtest.h>

#include <vector>

namespace syrinx {
namespace {

/// The parts' rows that stay of these, at most `most`; -1 in front where none was dropped.
std::vector<int64_t> stays(std::deque<int64_t> parts, int64_t most) {
  const bool dropped = back_to_the_beginning(parts, most, [](int64_t rows) { return rows; });
  std::vector<int64_t> out(parts.begin(), parts.end());
  if (!dropped) out.insert(out.begin(), -1);
  return out;
}

TEST(Past, IsKeptAsLongAsItFits) {
  EXPECT_EQ(stays({}, 10), (std::vector<int64_t>{-1}));
  EXPECT_EQ(stays({4, 3, 3}, 10), (std::vector<int64_t>{-1, 4, 3, 3}));
}

TEST(Past, ThenTheBeginningIsLeftThatFillsHalfOfIt) {
  EXPECT_EQ(stays({2, 3, 3, 3}, 10), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(stays({2, 4, 5}, 10), (std::vector<int64_t>{2}));
  EXPECT_EQ(stays({8, 3}, 10), (std::vector<int64_t>{8})) << "the first, where it fits at all";
  EXPECT_EQ(stays({11, 1}, 10), (std::vector<int64_t>{}));
}

}  // namespace
}  // namespace syrinx
