#include "kernels/nearest.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class NearestTest : public fixture::OnDevice {
 protected:
  static constexpr int64_t kRows = 3;
  /// Returns codes [kRows, 2] of -1.
  static Tensor no_codes() {
    Tensor codes({kRows, 2}, DType::kI32);
    std::fill_n(codes.i32(), codes.shape().count(), -1);
    return codes;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, NearestTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(NearestTest, CodesAreTheFirstLargestScores) {
  for (const int64_t count : {1, 5, 32, 257, 2048}) {
    const Tensor scores = fixture::random({kRows, count}, 1), codes = no_codes();
    float* row = scores.f32() + count;
    row[count / 2] = row[count - 1] = 9;  // two largest scores
    fixture::Bench bench(1, GetParam());
    take_largest(bench.ctx, bench.on(scores), bench.on(codes), 1);
    bench.back();
    for (int64_t r = 0; r < kRows; ++r) {
      const float* from = scores.f32() + r * count;
      EXPECT_EQ(codes.i32()[2 * r + 1], std::max_element(from, from + count) - from) << count;
      EXPECT_EQ(codes.i32()[2 * r], -1);
    }
    EXPECT_EQ(codes.i32()[3], count / 2);
  }
}

TEST_P(NearestTest, TheChosenEntryIsSubtracted) {
  for (const auto& [count, width] : {std::pair{5, 7}, {300, 256}, {40, 600}}) {
    const Tensor scores = fixture::random({kRows, count}, 1), codes = no_codes();
    const Tensor entries = fixture::random({count, width}, 2);
    const Tensor x = fixture::random({kRows, width}, 3), rest = x.clone();
    fixture::Bench bench(1, GetParam());
    subtract_largest(bench.ctx, bench.on(scores), bench.on(entries), bench.on(rest),
                     bench.on(codes), 0);
    bench.back();
    for (int64_t i = 0; i < x.shape().count(); ++i) {
      const int32_t code = codes.i32()[i / width * 2];
      EXPECT_EQ(rest.f32()[i], x.f32()[i] - entries.f32()[code * width + i % width]) << i;
    }
  }
}

TEST(Nearest, ColumnsAndEntriesMustFit) {
  fixture::Bench bench;
  const Tensor scores = fixture::random({3, 4}, 1), codes({3, 2}, DType::kI32);
  const Tensor x = fixture::random({3, 5}, 2), entries = fixture::random({4, 5}, 3);
  EXPECT_NO_THROW(subtract_largest(bench.ctx, scores, entries, x, codes, 1));
  EXPECT_THROW(take_largest(bench.ctx, scores, codes, 2), InternalError);
  EXPECT_THROW(subtract_largest(bench.ctx, scores, x, x, codes, 1), InternalError);
}

}  // namespace
}  // namespace syrinx
