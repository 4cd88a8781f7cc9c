#include "engine/lane.h"

#include <gtest/gtest.h>

#include "engine/repetition.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

TEST(Lane, EveryFrameFreshOnceWithItsNeighbours) {
  for (uint32_t round = 0; round < 300; ++round) {
    auto random = [&, i = 0u](int below) mutable {
      return static_cast<int>(philox_uniform(round, i++, 0) * static_cast<float>(below));
    };
    const ChunkPolicy policy{1 + random(4), 1 + random(9), random(5), random(3)};
    Lane<int32_t> lane(policy, 2);
    const int frames = random(3000);
    int given = 0, next = 0;
    bool first = true;
    while (!lane.exhausted()) {
      const int more = std::min(frames - given, random(40));
      for (int i = 0; i < more; ++i, ++given) {
        lane.input().push_back(given);
        lane.input().push_back(-given);
      }
      if (given == frames) lane.close();
      const ChunkCut cut = lane.next();
      if (cut.fresh == 0) continue;
      const auto window = lane.window(cut);
      ASSERT_EQ(static_cast<int>(window.size()), 2 * (cut.left + cut.fresh + cut.ahead));
      EXPECT_EQ(cut.left, std::min(next, policy.left));
      for (size_t i = 0; i < window.size() / 2; ++i) {
        ASSERT_EQ(window[2 * i], next - cut.left + static_cast<int>(i));
      }
      const bool end = next + cut.fresh + cut.ahead == frames && given == frames;
      EXPECT_EQ(cut.last, end);
      if (!end) {
        EXPECT_EQ(cut.ahead, policy.lookahead);
        EXPECT_GE(cut.fresh, first ? policy.initial : policy.steady);
      }
      next += cut.fresh;
      first = false;
      lane.take(cut);
    }
    EXPECT_EQ(next, frames);
  }
}

TEST(Lane, AStageMayTakeOtherChunksThanThePolicy) {
  Lane<int32_t> lane({8, 8, 1, 2}, 1);
  for (int i = 0; i < 6; ++i) lane.input().push_back(i);
  EXPECT_EQ(lane.next().fresh, 0);
  EXPECT_EQ(lane.frames().size(), 6u);
  EXPECT_EQ(lane.with_fresh(0).fresh, 0);
  const ChunkCut cut = lane.with_fresh(3);
  EXPECT_EQ(cut.fresh, 3);
  EXPECT_EQ(cut.ahead, 2);
  EXPECT_FALSE(cut.last);
  lane.take(cut);
  EXPECT_EQ(lane.frames().front(), 3);
  lane.close();
  const ChunkCut rest = lane.with_fresh(9);
  EXPECT_EQ(rest.fresh, 3);
  EXPECT_EQ(rest.left, 1);
  EXPECT_TRUE(rest.last);
}

TEST(RepetitionGuard, CountsPatternsNotSpeech) {
  RepetitionGuard guard;
  for (int i = 0; i < 100; ++i) {
    const int32_t code[2] = {i, 5};
    guard.frame(code);
  }
  EXPECT_EQ(guard.repeated(), 0);
  for (int i = 0; i < 30; ++i) {
    const int32_t code[2] = {i % 3, 7};
    guard.frame(code);
  }
  EXPECT_EQ(guard.repeated(), 27);
  const int32_t other[2] = {9, 9};
  guard.frame(other);
  EXPECT_EQ(guard.repeated(), 0);
}

}  // namespace
}  // namespace syrinx
