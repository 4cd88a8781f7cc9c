// Delay patterns: frames come back unchanged, at the right steps, with ends of every kind.
#include "model/delay.h"

#include <gtest/gtest.h>

#include <random>

namespace syrinx {
namespace {

constexpr DelayMarks kDelayMarks{1000, 1001, 1002};

DelayPattern staggered(int streams, DelayDrain drain = DelayDrain::kForced) {
  return {DelayPattern::staggered(streams), kDelayMarks, drain};
}

std::vector<int32_t> some_frames(std::mt19937& random, int frames, int streams) {
  std::vector<int32_t> codes(static_cast<size_t>(frames) * streams);
  for (int32_t& code : codes) code = static_cast<int32_t>(random() % 1000);
  return codes;
}

/// Makes a random pattern whose stream 0 has no delay.
DelayPattern any_pattern(std::mt19937& random) {
  DelayPattern pattern = staggered(1 + static_cast<int>(random() % 9));
  for (size_t s = 1; s < pattern.delays.size(); ++s) pattern.delays[s] = random() % 12;
  return pattern;
}

TEST(DelayPattern, StepsOfTwoFrames) {
  const DelayPattern pattern = staggered(3);
  const std::vector<int32_t> frames{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(pattern.interleave(frames),
            (std::vector<int32_t>{1, 1000, 1000, 4, 2, 1000, 1001, 5, 3, 1002, 1001, 6}));
}

/// Pushes steps and collects the frames that they complete.
std::vector<int32_t> spoken(DelayedStreams& streams, std::span<const int32_t> steps, int end_step,
                            int* taken = nullptr) {
  const int width = streams.pattern().streams();
  std::vector<int32_t> out, frame(static_cast<size_t>(width));
  for (int step = 0; step * width < std::ssize(steps) && !streams.done(); ++step) {
    if (step == end_step) streams.end_now();
    streams.push(steps.subspan(step * width, width));
    if (streams.frame(frame)) out.insert(out.end(), frame.begin(), frame.end());
    if (taken) *taken = step + 1;
  }
  return out;
}

TEST(DelayedStreams, SpeakWhatWasInterleavedUpToTheEnd) {
  std::mt19937 random(8);
  for (int run = 0; run < 600; ++run) {
    DelayPattern pattern = any_pattern(random);
    if (run % 3 == 1) pattern.drain = DelayDrain::kEmitted;
    if (run % 3 == 2) pattern.drain = DelayDrain::kEndFrame;
    const int count = static_cast<int>(random() % 30);
    const auto frames = some_frames(random, count, pattern.streams());
    const auto steps = pattern.interleave(frames);
    ASSERT_EQ(steps.size(), frames.size() + pattern.tail() * pattern.streams());
    DelayedStreams streams(pattern);
    streams.restart(3);
    int taken = 0;
    ASSERT_EQ(spoken(streams, steps, count, &taken), frames);
    ASSERT_EQ(taken, count + pattern.tail()) << "no step more than needed";
    ASSERT_EQ(streams.done(), pattern.tail() > 0) << "only a step with the end mark can tell";
    streams.restart(3);
    EXPECT_FALSE(streams.ending());
    ASSERT_EQ(spoken(streams, steps, -1), frames) << "an end is not needed";
  }
}

TEST(DelayedStreams, ForcedDrainsPutMarksWhateverWasSampled) {
  DelayedStreams streams(staggered(3));
  streams.restart(8);
  for (int step = 0; step < 2; ++step) streams.push(std::vector<int32_t>{7, 8, 9});
  EXPECT_EQ(streams.at(-1, 0), 1000);
  EXPECT_EQ(streams.at(0, 0), 7);
  EXPECT_EQ(streams.at(0, 1), 1000) << "stream 1 begins a step later";
  EXPECT_TRUE(streams.idle(2) == false && !streams.idle(0));
  streams.end_now();
  EXPECT_TRUE(streams.idle(0));
  EXPECT_FALSE(streams.idle(1));
  streams.push(std::vector<int32_t>{7, 8, 9});
  EXPECT_FALSE(streams.done());
  streams.push(std::vector<int32_t>{7, 8, 9});
  EXPECT_TRUE(streams.done());
  EXPECT_EQ(std::vector(streams.column(0).begin(), streams.column(0).end()),
            (std::vector<int32_t>{1000, 7, 7, 1001, 1002}));
  EXPECT_EQ(std::vector(streams.column(1).begin(), streams.column(1).end()),
            (std::vector<int32_t>{1000, 1000, 8, 8, 1001}));
  EXPECT_EQ(streams.end_frame(), 2);
}

TEST(DelayedStreams, EmittedDrainsKeepWhatWasSampled) {
  DelayedStreams streams(staggered(3, DelayDrain::kEmitted));
  for (int step = 0; step < 2; ++step) streams.push(std::vector<int32_t>{7, 8, 9});
  streams.end_now();
  streams.push(std::vector<int32_t>{5, 8, 9});
  streams.push(std::vector<int32_t>{6, 4, 9});
  EXPECT_TRUE(streams.done());
  EXPECT_EQ(std::vector(streams.column(0).begin(), streams.column(0).end()),
            (std::vector<int32_t>{1000, 7, 7, 5, 6}));
  EXPECT_EQ(streams.at(3, 1), 4);
}

TEST(DelayedStreams, TheEndsFrameIsTheModelsAndMarksFollowIt) {
  DelayedStreams streams(staggered(4, DelayDrain::kEndFrame));
  const std::vector<int32_t> codes{6, 7, 8, 9};
  streams.push(codes);
  streams.end_now();
  for (int step = 1; step < 6; ++step) {
    for (int s = 0; s < 4; ++s) {
      const bool before = step<s, behind = step>(s == 0 ? 2 : s + 1);
      EXPECT_EQ(streams.idle(s), before || behind) << "stream " << s << " at step " << step;
    }
    streams.push(codes);
  }
  EXPECT_EQ(std::vector(streams.column(0).begin(), streams.column(0).end()),
            (std::vector<int32_t>{1000, 6, 6, 6, 1002, 1002, 1002}));
  EXPECT_EQ(std::vector(streams.column(1).begin(), streams.column(1).end()),
            (std::vector<int32_t>{1000, 1000, 7, 7, 1002, 1002, 1002}));
}

TEST(DelayedStreams, ATailOfTheModelsOwnEndsAtOnce) {
  DelayedStreams streams(staggered(4, DelayDrain::kEmitted));
  streams.end_with_tail();
  EXPECT_EQ(streams.end_frame(), 0) << "nothing whole, nothing spoken";
  streams.restart(0);
  for (int step = 0; step < 9; ++step) streams.push(std::vector<int32_t>{1, 2, 3, 4});
  EXPECT_FALSE(streams.done());
  streams.end_with_tail();
  EXPECT_TRUE(streams.done());
  EXPECT_EQ(streams.end_frame(), 6);
}

TEST(DelayedStreams, WhatDoesNotEndIsCutOnce) {
  DelayedStreams streams(staggered(3, DelayDrain::kForced));
  const std::vector<int32_t> codes{1, 2, 3};
  for (int step = 0; step < 6; ++step) {
    streams.push(codes);
    EXPECT_EQ(streams.cut_at(6), step == 5) << step;
  }
  EXPECT_TRUE(streams.done());
  EXPECT_EQ(streams.end_frame(), 4) << "those that are whole";
  streams.restart(0);
  for (int step = 0; step < 6; ++step) {
    if (step == 5) streams.end_now();
    streams.push(codes);
  }
  EXPECT_TRUE(streams.cut_at(6)) << "the frames before the end are not whole yet";
  streams.restart(0);
  for (int step = 0; step < 6; ++step) {
    if (step == 3) streams.end_now();
    streams.push(codes);
  }
  EXPECT_TRUE(streams.done());
  EXPECT_FALSE(streams.cut_at(6)) << "it ended by itself";
  EXPECT_EQ(streams.end_frame(), 3);
}

TEST(DelayedStreams, AFreeModelFillsWhatComesBeforeTheFirstCodeToo) {
  DelayedStreams streams(staggered(3, DelayDrain::kFree));
  std::vector<int32_t> frame(3);
  for (int step = 0; step < 5; ++step) {
    for (int s = 0; s < 3; ++s) EXPECT_FALSE(streams.idle(s)) << step;
    streams.push(std::vector<int32_t>{10 * step, 10 * step + 1, 10 * step + 2});
    EXPECT_EQ(streams.at(step, 2), 10 * step + 2) << "what was sampled stays";
    EXPECT_EQ(streams.frame(frame), step >= 2);
  }
  EXPECT_EQ(frame, (std::vector<int32_t>{20, 31, 42}));
}

}  // namespace
}  // namespace syrinx
