#include "kernels/solver.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

class SolverTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SolverTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(SolverTest, WeightedSumsOfTwoOperands) {
  fixture::Bench bench(2, GetParam());
  const Tensor x = fixture::random({3, 22}, 1), y = fixture::random({3, 22}, 2);
  Tensor out = fixture::poisoned({3, 22}), same = x.clone();
  weighted_sum(bench.ctx, 2.5f, bench.on(x), -0.3f, bench.on(y), bench.on(out));
  bench.back();
  weighted_sum(bench.ctx, 2.5f, bench.on(same), -0.3f, bench.on(y), bench.on(same));
  bench.back();
  for (int i = 0; i < 66; ++i)
    EXPECT_FLOAT_EQ(out.f32()[i], 2.5f * x.f32()[i] + -0.3f * y.f32()[i]);
  EXPECT_TRUE(fixture::same_bits(out, same)) << "in place";
  fill_zeros(bench.ctx, bench.on(out));
  bench.back();
  for (int i = 0; i < 66; ++i) EXPECT_EQ(out.f32()[i], 0);
}

TEST_P(SolverTest, ZeroStarScalesTheUnconditionedEstimate) {
  fixture::Bench bench(1, GetParam());
  constexpr int kRows = 3, kWidth = 300;
  const float scales[kRows] = {1, 2, 0.5f};
  const Tensor c = fixture::random({kRows, kWidth}, 1), u = fixture::random({kRows, kWidth}, 2);
  const Tensor out = c.clone();
  std::vector<float> factors(scales, scales + kRows);
  guide_zero_star(bench.ctx, bench.on(out), bench.on(u),
                  bench.on({factors.data(), DType::kF32, {kRows}}));
  bench.back();
  EXPECT_TRUE(fixture::same_bits(out.view().slice(0, 1), c.view().slice(0, 1)));
  for (int r = 0; r < kRows; ++r) {
    const float *with = c.f32() + r * kWidth, *without = u.f32() + r * kWidth;
    double dot = 0, power = 1e-8;
    for (int i = 0; i < kWidth; ++i) {
      dot += double{with[i]} * without[i], power += double{without[i]} * without[i];
    }
    for (int i = 0; i < kWidth; ++i) {
      const double base = without[i] * dot / power;
      EXPECT_NEAR(out.f32()[r * kWidth + i], base + scales[r] * (with[i] - base), 2e-6) << r;
    }
  }
}

}  // namespace
}  // namespace syrinx
