#include "kernels/modulate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class ModulateTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ModulateTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(ModulateTest, EachRowHasItsOwnShiftScaleAndGate) {
  fixture::Bench bench(1, GetParam());
  constexpr int64_t kRows = 3, kWidth = 37;
  const Tensor x = fixture::random({kRows, kWidth}, 1), y = fixture::random({kRows, kWidth}, 2),
               by = fixture::random({kRows, 3 * kWidth}, 3);
  const Tensor moved = x.clone(), added = x.clone();
  modulate(bench.ctx, bench.on(moved), bench.on(by));
  bench.back();
  add_gated(bench.ctx, bench.on(added), bench.on(y), bench.on(by));
  bench.back();
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < kWidth; ++i) {
      const int64_t at = r * kWidth + i;
      const float* row = by.f32() + 3 * r * kWidth + i;
      EXPECT_NEAR(moved.f32()[at], x.f32()[at] * (1 + row[kWidth]) + row[0], 1e-6);
      EXPECT_NEAR(added.f32()[at], x.f32()[at] + row[2 * kWidth] * y.f32()[at], 1e-6);
    }
  }
}

TEST(Modulate, NeedsAllParts) {
  fixture::Bench bench;
  const Tensor x = fixture::random({2, 4}, 1), by = fixture::random({2, 8}, 2);
  EXPECT_NO_THROW(modulate(bench.ctx, x, by));
  EXPECT_THROW(add_gated(bench.ctx, x, x, by), InternalError) << "a gate is missing";
  EXPECT_THROW(modulate(bench.ctx, x, fixture::random({2, 7}, 3)), InternalError);
}

}  // namespace
}  // namespace syrinx
