#include "text/segment_queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace syrinx {
namespace {

const std::string kText =
    "Hello there. This is the second sentence, which is longer. Is this the third? Yes! And so on.";

std::vector<std::string> all(SegmentQueue& queue) {
  std::vector<std::string> out;
  for (std::string text = queue.next(); !text.empty(); text = queue.next()) out.push_back(text);
  return out;
}

TEST(SegmentQueue, GroupsWhatIsKnown) {
  SegmentQueue queue(60, false, 0);
  queue.push(kText, true);
  EXPECT_FALSE(queue.open());
  EXPECT_EQ(all(queue),
            (std::vector<std::string>{"Hello there. This is the second sentence, which is longer. ",
                                      "Is this the third? Yes! And so on."}));
  SegmentQueue whole(200, false, 0);
  whole.push("  " + kText + "\n", true);
  EXPECT_EQ(all(whole), std::vector<std::string>{"  " + kText + "\n"});
}

TEST(SegmentQueue, GivesTheSameHoweverTextArrives) {
  std::vector<std::vector<std::string>> seen;
  for (const size_t piece : {1u, 7u, 1000u}) {
    SegmentQueue queue(400, true, 20);
    std::vector<std::string> segments;
    for (size_t at = 0; at < kText.size(); at += piece) {
      queue.push(std::string_view(kText).substr(at, piece), at + piece >= kText.size());
      for (std::string& segment : all(queue)) segments.push_back(std::move(segment));
    }
    seen.push_back(segments);
  }
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_GT(seen[0].size(), 1u);
}

TEST(SegmentQueue, NothingIsNothing) {
  SegmentQueue queue(400, true, 20);
  EXPECT_EQ(queue.next(), "");
  queue.push(" \n ", false);
  EXPECT_EQ(queue.next(), "");
  EXPECT_TRUE(queue.open());
  queue.push("\t", true);
  EXPECT_EQ(queue.next(), "");
  EXPECT_FALSE(queue.open());
}

TEST(SegmentQueue, ASegmentMayBeFull) {
  const std::string one = "Hello there. ", two = "And so on.";
  for (const size_t most : {one.size() + two.size(), one.size() + two.size() - 1}) {
    SegmentQueue queue(most, false, 0);
    queue.push(one + two, true);
    EXPECT_EQ(all(queue).size(), most == one.size() + two.size() ? 1u : 2u);
  }
}

TEST(SegmentQueue, SpaceAtTheEndIsNoSegment) {
  SegmentQueue queue(12, false, 0);
  queue.push("Hello there.\n\n   \n\n \n", true);
  EXPECT_EQ(all(queue).size(), 1u);
}

TEST(SegmentQueue, WhatHasEndedStaysSo) {
  SegmentQueue queue(400, true, 20);
  queue.push("Yes.", true);
  EXPECT_FALSE(queue.open());
  queue.push("", false);
  EXPECT_FALSE(queue.open());
}

}  // namespace
}  // namespace syrinx
