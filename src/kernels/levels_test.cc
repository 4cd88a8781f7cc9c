#include "kernels/levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class LevelsTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, LevelsTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(LevelsTest, OnlyTheNearestLevelCanBeChosen) {
  fixture::Bench bench(1, GetParam());
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  // Levels -1, -0.5, 0, 0.5 and 1, from code 2 on; 0.25 and 0.75 are between two of them.
  const std::vector<std::pair<float, int>> cases = {
      {-1, 2},  {-0.74f, 3}, {-0.25f, 4}, {0.2f, 4},     {0.25f, 4},     {0.26f, 5}, {0.75f, 6},
      {1.f, 6}, {2.f, 6},    {-7.f, 2},   {infinity, 6}, {-infinity, 2}, {nan, 2}};
  const auto count = static_cast<int64_t>(cases.size());
  std::vector<float> numbers, out(cases.size() * 7, 5);
  for (const auto& [number, code] : cases) numbers.insert(numbers.end(), {0.5f, number, -1});
  level_logits(bench.ctx, bench.on({numbers.data(), DType::kF32, {count, 3}}), 1, 2,
               bench.on({out.data(), DType::kF32, {count, 7}}));
  bench.back();
  for (size_t i = 0; i < cases.size(); ++i) {
    for (int code = 0; code < 7; ++code) {
      const float logit = out[i * 7 + static_cast<size_t>(code)];
      if (code != cases[i].second) {
        EXPECT_EQ(logit, -infinity) << cases[i].first << ", code " << code;
      } else if (std::isnan(cases[i].first)) {
        EXPECT_TRUE(std::isnan(logit));
      } else {
        EXPECT_EQ(logit, 0) << cases[i].first;
      }
    }
  }
}

TEST_P(LevelsTest, RoundsToTheNearestStep) {
  fixture::Bench bench(1, GetParam());
  std::vector<float> x{0.12f, 0.13f, 0.125f, 0.375f, -0.61f, -0.1f, 1};
  round_to_steps(bench.ctx, bench.on({x.data(), DType::kF32, {7}}), 4);
  bench.back();
  EXPECT_EQ(x, (std::vector<float>{0, 0.25f, 0, 0.5f, -0.5f, 0, 1}));
}

TEST(Levels, MustFit) {
  fixture::Bench bench;
  const Tensor x = fixture::random({3, 4}, 1), out = fixture::random({3, 8}, 2);
  EXPECT_NO_THROW(level_logits(bench.ctx, x, 3, 6, out));
  EXPECT_THROW(level_logits(bench.ctx, x, 4, 6, out), InternalError);
  EXPECT_THROW(level_logits(bench.ctx, x, 3, 7, out), InternalError) << "one level";
  EXPECT_THROW(level_logits(bench.ctx, x, 3, 6, fixture::random({2, 8}, 3)), InternalError);
}

}  // namespace
}  // namespace syrinx
