#include <gtest/gtest.h>

#include <cmath>

#include "engine/admission.h"
#include "engine/cost.h"
#include "engine/first_chunk.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

TEST(CostLearner, FindsTheLineUnderNoise) {
  CostLearner learner;
  for (uint32_t i = 0; i < 400; ++i) {
    const double n = 1 + std::floor(30 * philox_uniform(1, i, 0));
    learner.sample(n, 0.002 + 0.0001 * n + 0.0002 * (philox_uniform(1, i, 1) - 0.5));
  }
  EXPECT_NEAR(learner.cost().fixed_s, 0.002, 0.0002);
  EXPECT_NEAR(learner.cost().unit_s, 0.0001, 0.00001);
  learner.sample(4, 100);  // as if the computer had slept during the batch
  EXPECT_LT(learner.cost().of(4), 0.003);
}

TEST(CostLearner, OneSizeAndImpossibleLines) {
  CostLearner same;
  for (int i = 0; i < 10; ++i) same.sample(8, 0.004);
  EXPECT_NEAR(same.cost().of(8), 0.004, 1e-9);
  CostLearner falling;
  falling.sample(1, 0.01);
  falling.sample(10, 0.001);
  EXPECT_GE(falling.cost().unit_s, 0);
  CostLearner steep;
  for (int i = 0; i < 9; ++i) steep.sample(2 + i % 2, i % 2 ? 0.009 : 0.001);
  EXPECT_GE(steep.cost().fixed_s, 0);
}

TEST(FirstChunk, GrowsWhenTheSecondIsLateAndShrinksInPeace) {
  FirstChunk chunk(2, 8);
  EXPECT_EQ(chunk.frames(), 2);
  chunk.second_chunk(-0.01, 0.1);
  EXPECT_EQ(chunk.frames(), 3);
  for (int i = 0; i < 20; ++i) chunk.second_chunk(0, 0.1);
  EXPECT_EQ(chunk.frames(), 8);
  for (int i = 0; i < 5; ++i) chunk.second_chunk(0.03, 0.1);  // nearly late
  EXPECT_EQ(chunk.frames(), 8);
  for (int i = 0; i < 100; ++i) chunk.second_chunk(0.09, 0.1);
  EXPECT_EQ(chunk.frames(), 2);
  EXPECT_EQ(FirstChunk(4, 1).frames(), 4);
}

TEST(Admission, CapacityIsOneOverTheTimeOfASecond) {
  const NodeWork steps{{0.004, 0.0005}, true, 25}, chunks{{0.002, 0.0002}, false, 25, 5};
  const NodeWork both[] = {steps, chunks};
  // 25 steps cost 25 (0.004 / 8 + 0.0005), 25 frames cost 25 (0.002 / 40 + 0.0002).
  EXPECT_NEAR(stream_capacity(both, 8, {}), 1 / (0.025 + 0.00625), 1e-9);
  EXPECT_NEAR(stream_capacity(both, 8, {1, true}), 1 / 0.025, 1e-9);
  EXPECT_NEAR(stream_capacity(both, 8, {2, false}), 2 / (0.025 + 0.00625), 1e-9);
  EXPECT_NEAR(stream_capacity({&steps, 1}, 8, {}), 1 / 0.025, 1e-9) << "a model that writes";
  NodeWork apart[] = {both[0], both[1]};
  apart[1].remote = true;  // this node uses time of another process
  EXPECT_NEAR(stream_capacity(apart, 8, {2, false}), 2 / 0.025, 1e-9);
  EXPECT_NEAR(stream_capacity(apart, 8, {1, true}), 1 / 0.025, 1e-9);
  apart[1].cost = {.fixed_s = 0, .unit_s = 1};
  EXPECT_NEAR(stream_capacity(apart, 8, {2, false}), 1 / apart[1].units_a_second, 1e-9);
  EXPECT_NEAR(stream_capacity(apart, 8, {1, true}), 1 / apart[1].units_a_second, 1e-9);
  const NodeWork unknown[] = {steps, {{}, false, 25, 5}};
  EXPECT_TRUE(std::isinf(stream_capacity(unknown, 8, {})));
}

TEST(StageCost, HowManyUnitsATimeIsEnoughFor) {
  const StageCost cost{0.010, 0.002};
  EXPECT_EQ(cost.within(0.0301, 50), 10);
  EXPECT_EQ(cost.within(0.001, 50), 1) << "one always";
  EXPECT_EQ(cost.within(1, 50), 50);
  EXPECT_EQ(StageCost{}.within(0.001, 50), 50) << "nothing is known yet";
}

TEST(Admission, WaitIsTheQueueOverHowFastItEmpties) {
  EXPECT_EQ(predicted_wait_s({3, 0, 10, 2}), 0);
  EXPECT_EQ(predicted_wait_s({9, 0, 10, 2}), 0);
  EXPECT_DOUBLE_EQ(predicted_wait_s({10, 0, 10, 2}), 0.5);
  EXPECT_DOUBLE_EQ(predicted_wait_s({10, 3, 10, 2}), 2);
  EXPECT_TRUE(std::isinf(predicted_wait_s({10, 0, 10, 0})));
}

/// A SeatLimit that observes a machine. The test sets its busy share, chunks and late chunks.
struct Watched {
  SeatLimit limit;
  double at_s = 100, busy_s = 0;

  void look(double busy, int chunks, int late, int running) {
    for (int i = 0; i < chunks; ++i) limit.chunk(i < late);
    at_s += SeatLimit::kLook_s;
    busy_s += busy * SeatLimit::kLook_s;
    limit.observe(busy_s, running, at_s);
  }
};

TEST(Admission, SeatsAreTakenBackWhileStreamsRunDry) {
  Watched w;
  w.look(0.9, 100, 0, 100);
  EXPECT_FALSE(w.limit.limited());
  w.look(0.95, 100, 10, 100);
  w.look(0.95, 100, 10, 100);
  EXPECT_FALSE(w.limit.limited()) << "two looks prove nothing";
  w.look(0.95, 100, 10, 100);
  EXPECT_DOUBLE_EQ(w.limit.seats(), 95);
  w.limit.chunk(true);
  w.limit.observe(w.busy_s, 95, w.at_s + 0.1);  // too early after the last look
  EXPECT_DOUBLE_EQ(w.limit.seats(), 95);
  w.look(0.95, 100, 10, 95);
  EXPECT_DOUBLE_EQ(w.limit.seats(), 0.95 * 95);
  w.look(0.95, 1000, 2, 80);  // few chunks are late, so the limit stays
  EXPECT_DOUBLE_EQ(w.limit.seats(), 0.95 * 95);
  for (int i = 0; i < 5; ++i) w.look(0.9, 100, 0, 80);
  EXPECT_GT(w.limit.seats(), 100);
}

TEST(Admission, OneHiccupOfTheMachineLimitsNothing) {
  Watched w;
  w.look(0.3, 20, 0, 1);
  w.look(1.2, 1, 1, 1);  // as if the process had been stopped for 0.3 s during a batch
  w.look(0.4, 20, 0, 1);
  EXPECT_FALSE(w.limit.limited());
  for (int i = 0; i < 8; ++i) w.look(0.4, 20, i % 2 == 0 ? 20 : 0, 1);
  EXPECT_FALSE(w.limit.limited()) << "late while the executors have time is not overload";
  for (int i = 0; i < 8; ++i) w.look(0.6, 20, 20, 1);
  EXPECT_FALSE(w.limit.limited()) << "nor late at every look";
}

TEST(Admission, TheLimitIsGoneASecondAfterTheLoad) {
  Watched w;
  for (int i = 0; i < 12; ++i) w.look(1, 100, 50, 40);
  ASSERT_LT(w.limit.seats(), 30);
  for (int i = 0; i < 4; ++i) w.look(0.1, 5, 0, 1);
  EXPECT_FALSE(w.limit.limited());
  for (int i = 0; i < 12; ++i) w.look(1, 100, 50, 40);
  w.limit.observe(w.busy_s, 0, w.at_s + 60);  // nothing ran for a minute
  EXPECT_FALSE(w.limit.limited());
}

TEST(StageCost, UnitsThatCostNothingAreAllTaken) {
  EXPECT_EQ((StageCost{0.010, 0}).within(0.001, 50), 50);
}

}  // namespace
}  // namespace syrinx
