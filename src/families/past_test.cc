// Tests the choice of earlier parts that a prompt repeats.
#include "families/past.h"

#include <gtest/gtest.h>

#include <vector>

namespace syrinx {
namespace {

/// Returns the numbers of rows of the parts that stay. `parts`: the numbers of rows of all parts.
std::vector<int64_t> stays(std::deque<int64_t> parts, int64_t most) {
  back_to_the_beginning(parts, most, [](int64_t rows) { return rows; });
  return {parts.begin(), parts.end()};
}

TEST(Past, IsKeptAsLongAsItFits) {
  EXPECT_EQ(stays({}, 10), (std::vector<int64_t>{}));
  EXPECT_EQ(stays({4, 3, 3}, 10), (std::vector<int64_t>{4, 3, 3}));
}

TEST(Past, ThenTheBeginningIsLeftThatFillsHalfOfIt) {
  EXPECT_EQ(stays({2, 3, 3, 3}, 10), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(stays({2, 4, 5}, 10), (std::vector<int64_t>{2}));
  EXPECT_EQ(stays({8, 3}, 10), (std::vector<int64_t>{8})) << "the first, where it fits at all";
  EXPECT_EQ(stays({11, 1}, 10), (std::vector<int64_t>{}));
}

}  // namespace
}  // namespace syrinx
