#include "kernels/guidance.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class GuidanceTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, GuidanceTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(GuidanceTest, MergesPairsAndKeepsTheOthers) {
  fixture::Bench bench(2, GetParam());
  constexpr int kWidth = 9000;
  std::vector<float> data(7 * kWidth);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 977) * 0.25f - 100;
  const std::vector<float> before = data;
  // A guided pair, a single row, a guided pair, and a pair without guidance.
  const std::vector<GuidedRow> rows = {
      {0, true, 2.f}, {2, false, 1.f}, {3, true, 1.5f}, {5, true, 1.f}};
  merge_guidance(bench.ctx, bench.on({data.data(), DType::kF32, {7, kWidth}}), rows);
  bench.back();
  for (int v = 0; v < kWidth; ++v) {
    const auto at = [&](int row) { return before[row * kWidth + v]; };
    ASSERT_EQ(data[v], at(1) + 2.f * (at(0) - at(1)));
    ASSERT_EQ(data[kWidth + v], at(2));
    ASSERT_EQ(data[2 * kWidth + v], at(4) + 1.5f * (at(3) - at(4)));
    ASSERT_EQ(data[3 * kWidth + v], at(5));
  }
}

TEST(Guidance, RowsMustBeThere) {
  fixture::Bench bench;
  const Tensor logits = fixture::random({3, 8}, 1);
  const auto merge = [&](const GuidedRow& row) {
    merge_guidance(bench.ctx, logits, std::span(&row, 1));
  };
  EXPECT_NO_THROW(merge({2, false, 1.f}));
  EXPECT_THROW(merge({3, false, 1.f}), InternalError);
  EXPECT_NO_THROW(merge({1, true, 2.f}));
  EXPECT_THROW(merge({2, true, 2.f}), InternalError) << "a pair has two rows";
}

}  // namespace
}  // namespace syrinx
