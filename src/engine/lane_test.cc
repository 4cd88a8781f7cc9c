#include "engine/lane.h"

#include <gtest/gtest.h>

#include "engine/repetition.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

void give(Lane& lane, std::vector<int32_t> codes) { lane.give(codes, {}); }

TEST(Lane, EveryFrameFreshOnceWithItsNeighbours) {
  for (uint32_t round = 0; round < 300; ++round) {
    auto random = [&, i = 0u](int below) mutable {
      return static_cast<int>(philox_uniform(round, i++, 0) * static_cast<float>(below));
    };
    const ChunkPolicy policy{1 + random(4), 1 + random(9), random(5), random(3)};
    Lane lane(policy, {Flow::kCodes, 2});
    const int frames = random(3000);
    int given = 0, next = 0;
    bool first = true;
    while (!lane.exhausted()) {
      const int more = std::min(frames - given, random(40));
      for (int i = 0; i < more; ++i, ++given) {
        give(lane, {given, -given});
      }
      if (given == frames) lane.close();
      const ChunkCut cut = lane.next();
      if (cut.fresh == 0) continue;
      const auto window = lane.window(cut).ints;
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

TEST(Lane, RepeatsTheFramesOfEarlierTurnsApart) {
  for (const bool taken : {false, true}) {
    std::vector<int32_t> past(2 * 1300);
    for (size_t i = 0; i < past.size(); ++i) past[i] = static_cast<int32_t>(i / 2) - 1300;
    Lane lane({2, 5, 3, 0}, {Flow::kCodes, 2}, past, taken);
    EXPECT_EQ(lane.given(), 0);
    EXPECT_EQ(lane.waiting(), taken ? 0 : 1300);
    int next = taken ? 0 : -1300;
    int given = 0;
    while (!lane.exhausted()) {
      for (int i = 0; i < 3 && given < 1000; ++i, ++given) give(lane, {given, given});
      if (given == 1000) lane.close();
      const ChunkCut cut = lane.next();
      if (cut.fresh == 0) continue;
      EXPECT_EQ(cut.left, next == -1300 ? 0 : 3);
      EXPECT_EQ(lane.window(cut).ints[0], next - cut.left);
      EXPECT_LE(cut.fresh, most_frames(lane.policy()));
      EXPECT_TRUE(next >= 0 || next + cut.fresh <= 0) << "no chunk has frames of both";
      EXPECT_TRUE(next != 0 || cut.fresh == 2) << "the first chunk of the turn";
      EXPECT_EQ(cut.last, next + cut.fresh == 1000);
      lane.take(cut);
      next += cut.fresh;
      EXPECT_EQ(lane.taken(), next);
    }
    EXPECT_EQ(lane.given(), 1000);
    EXPECT_EQ(lane.all().ints.size(), 2u * 2300) << "no frame is forgotten";
  }
}

TEST(Lane, AStageMayTakeOtherChunksThanThePolicy) {
  Lane lane({8, 8, 1, 2}, {});
  for (int i = 0; i < 6; ++i) give(lane, {i});
  EXPECT_EQ(lane.next().fresh, 0);
  EXPECT_EQ(lane.frames().ints.size(), 6u);
  EXPECT_EQ(lane.with_fresh(0).fresh, 0);
  const ChunkCut cut = lane.with_fresh(3);
  EXPECT_EQ(cut.fresh, 3);
  EXPECT_EQ(cut.ahead, 2);
  EXPECT_FALSE(cut.last);
  lane.take(cut);
  EXPECT_EQ(lane.frames().ints.front(), 3);
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

std::vector<int> fresh_of(Lane& lane, int frames, int first, bool hurry) {
  std::vector<int> out;
  for (int i = 0; i < frames; ++i) {
    give(lane, {i});
    const ChunkCut cut = lane.next(first, hurry);
    if (cut.fresh == 0) continue;
    out.push_back(cut.fresh);
    lane.take(cut);
  }
  return out;
}

TEST(Lane, FramesThatPiledUpGoInWholeBlocks) {
  Lane lane({4, 4, 0, 0, 4}, {});  // fresh frames come in multiples of four
  for (int i = 0; i < 11; ++i) give(lane, {i});
  EXPECT_EQ(lane.next().fresh, 4);
  lane.take(lane.next());
  EXPECT_EQ(lane.next().fresh, 4) << "of seven";
  lane.take(lane.next());
  EXPECT_EQ(lane.next().fresh, 0);
  lane.close();
  EXPECT_EQ(lane.next().fresh, 3) << "but for the last";
}

TEST(Lane, AsManyAsAreWantedAndNoMore) {
  Lane plain({2, 5, 0, 1}, {});
  EXPECT_EQ(fresh_of(plain, 13, 0, false), (std::vector<int>{2, 5, 5}));
  Lane first({2, 5, 0, 1}, {});
  EXPECT_EQ(fresh_of(first, 14, 3, false), (std::vector<int>{3, 5, 5}));
  Lane hurried({2, 5, 0, 1}, {});
  EXPECT_EQ(fresh_of(hurried, 7, 3, true), (std::vector<int>{3, 2}));
  Lane blocks({3, 5, 0, 0, 4}, {});  // fresh frames come in multiples of four
  EXPECT_EQ(fresh_of(blocks, 12, 0, false), (std::vector<int>{4, 8}));
  Lane more({1, 1, 0, 0, 2}, {});
  for (int i = 0; i < 5; ++i) give(more, {i});
  more.take(more.next());
  EXPECT_EQ(more.taken(), 2);
  for (int i = 0; i < 2; ++i) give(more, {i});
  EXPECT_EQ(more.next().fresh, 4) << "whole pairs of the five that wait";
  more.close();
  more.take(more.next());
  EXPECT_EQ(more.next().fresh, 1) << "but for the end";
  EXPECT_TRUE(more.next().last);
}

TEST(RepetitionGuard, SeesPatternsOfUpToEightFromTheFirstFrame) {
  for (int period = 1; period <= 9; ++period) {
    RepetitionGuard guard;
    for (int i = 0; i < 40; ++i) {
      const int32_t code = i % period;
      guard.frame({&code, 1});
    }
    EXPECT_EQ(guard.repeated(), period <= RepetitionGuard::kMaxPeriod ? 40 - period : 0) << period;
  }
}

}  // namespace
}  // namespace syrinx
