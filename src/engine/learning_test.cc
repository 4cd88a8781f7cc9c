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
  EXPECT_FALSE(learner.known());
  for (uint32_t i = 0; i < 400; ++i) {
    const double n = 1 + std::floor(30 * philox_uniform(1, i, 0));
    learner.sample(n, 0.002 + 0.0001 * n + 0.0002 * (philox_uniform(1, i, 1) - 0.5));
  }
  EXPECT_NEAR(learner.cost().fixed_s, 0.002, 0.0002);
  EXPECT_NEAR(learner.cost().unit_s, 0.0001, 0.00001);
  learner.sample(4, 100);  // the machine slept
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
  for (int i = 0; i < 5; ++i) chunk.second_chunk(0.03, 0.1);  // close, but in time
  EXPECT_EQ(chunk.frames(), 8);
  for (int i = 0; i < 100; ++i) chunk.second_chunk(0.09, 0.1);
  EXPECT_EQ(chunk.frames(), 2);
  EXPECT_EQ(FirstChunk(4, 1).frames(), 4);
}

TEST(Admission, CapacityIsOneOverTheTimeOfASecond) {
  const CostModel costs{{0.004, 0.0005}, {{0.002, 0.0002}}};
  const WorkPerSecond work{25, {25}};
  const int chunk[] = {5};
  // 25 steps cost 25 (0.004 / 8 + 0.0005), 25 frames cost 25 (0.002 / 40 + 0.0002).
  EXPECT_NEAR(stream_capacity(costs, work, 8, chunk, {}), 1 / (0.025 + 0.00625), 1e-9);
  EXPECT_NEAR(stream_capacity(costs, work, 8, chunk, {1, true}), 1 / 0.025, 1e-9);
  EXPECT_NEAR(stream_capacity(costs, work, 8, chunk, {2, false}), 2 / (0.025 + 0.00625), 1e-9);
  EXPECT_TRUE(std::isinf(stream_capacity({{}, {{}}}, work, 8, chunk, {})));
}

TEST(Admission, WaitIsWhoIsAheadOverHowFastTheyLeave) {
  EXPECT_EQ(predicted_wait_s({3, 0, 10, 2}), 0);
  EXPECT_EQ(predicted_wait_s({9, 0, 10, 2}), 0);
  EXPECT_DOUBLE_EQ(predicted_wait_s({10, 0, 10, 2}), 0.5);
  EXPECT_DOUBLE_EQ(predicted_wait_s({10, 3, 10, 2}), 2);
  EXPECT_TRUE(std::isinf(predicted_wait_s({10, 0, 10, 0})));
}

TEST(Admission, PlacesAreTakenBackWhileStreamsRunDry) {
  PlaceLimit limit;
  EXPECT_TRUE(std::isinf(limit.places()));
  limit.observe(0, 100, 1);
  EXPECT_TRUE(std::isinf(limit.places()));
  limit.observe(0.1, 100, 2);
  EXPECT_DOUBLE_EQ(limit.places(), 95);
  limit.observe(0.1, 100, 2.1);  // too early to tell
  EXPECT_DOUBLE_EQ(limit.places(), 95);
  limit.observe(0.1, 95, 2.3);
  EXPECT_DOUBLE_EQ(limit.places(), 0.95 * 95);
  limit.observe(0.002, 80, 3);  // neither well nor bad
  EXPECT_DOUBLE_EQ(limit.places(), 0.95 * 95);
  for (int i = 0; i < 10; ++i) limit.observe(0, 80, 4 + i);
  EXPECT_GT(limit.places(), 99);
}

TEST(Rate, CountsTheLastSeconds) {
  Rate rate(5);
  EXPECT_EQ(rate.per_second(100), 0);
  for (int i = 0; i < 1000; ++i) rate.add(1, 100 + 0.1 * i);
  EXPECT_NEAR(rate.per_second(200), 10, 0.3);
  EXPECT_LT(rate.per_second(220), 0.3);
  Rate young(5);
  for (int i = 0; i < 10; ++i) young.add(1, 100 + 0.1 * i);
  EXPECT_NEAR(young.per_second(101), 10, 1.5);
}

}  // namespace
}  // namespace syrinx
