#include "kernels/patches.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class PatchesTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, PatchesTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

struct Planes {
  int64_t count, times, bands, channels;
};

/// Returns an input of a convolution; 0 outside of its plane.
float input(const Tensor& x, const Planes& p, int64_t plane, int64_t t, int64_t b, int64_t c) {
  if (t < 0 || t >= p.times || b < 0 || b >= p.bands) return 0;
  return x.f32()[((plane * p.times + t) * p.bands + b) * p.channels + c];
}

TEST_P(PatchesTest, AreTheWindowsOfEachOutput) {
  for (const Planes& p : {Planes{1, 1, 1, 1}, {2, 7, 5, 3}, {3, 8, 6, 1}, {1, 2, 9, 40}}) {
    const Tensor x = fixture::random({p.count, p.times, p.bands, p.channels}, 1);
    const int64_t times = (p.times + 1) / 2, bands = (p.bands + 1) / 2;
    const int64_t all = p.count * times * bands;
    for (const auto& [first, rows] : {std::pair{int64_t{0}, all}, {all / 2, all - all / 2}}) {
      fixture::GuardedOutput out({rows, 9 * p.channels});
      fixture::Bench bench(2, GetParam());
      gather_patches(bench.ctx, bench.on(x), first, bench.on(out.view()));
      bench.back();
      for (int64_t i = 0; i < out.view().count(); ++i) {
        const int64_t row = first + i / (9 * p.channels), tap = i / p.channels % 9;
        const int64_t t = 2 * (row / bands % times) + tap / 3 - 1, b = 2 * (row % bands) + tap % 3;
        ASSERT_EQ(out.view().f32()[i], input(x, p, row / bands / times, t, b - 1, i % p.channels))
            << x.shape().str() << ", row " << row << ", tap " << tap;
      }
      EXPECT_TRUE(out.clean());
    }
  }
}

TEST_P(PatchesTest, MeansAreThoseOfConsecutiveRows) {
  for (const int64_t each : {1, 2, 4}) {
    const Tensor x = fixture::random({3 * each, 37}, 1);
    fixture::GuardedOutput out({3, 37});
    fixture::Bench bench(2, GetParam());
    mean_rows(bench.ctx, bench.on(x), bench.on(out.view()));
    bench.back();
    for (int64_t i = 0; i < out.view().count(); ++i) {
      float sum = 0;
      for (int64_t r = 0; r < each; ++r) sum += x.f32()[(i / 37 * each + r) * 37 + i % 37];
      EXPECT_EQ(out.view().f32()[i], sum / static_cast<float>(each)) << i;
    }
    EXPECT_TRUE(out.clean());
  }
}

TEST_P(PatchesTest, DepthwiseConvolutionsAddTheirTapsInOrder) {
  struct Case {
    int64_t times, bands, inputs, channels, lead;
  };
  for (const Case& c : {Case{3, 1, 1, 1, 1}, {7, 8, 1, 5, 2}, {8, 6, 40, 40, 1}, {5, 9, 3, 3, 2}}) {
    const Tensor x = fixture::random({c.times, c.bands, c.inputs}, 1);
    const Tensor taps = fixture::random({9, c.channels}, 2),
                 bias = fixture::random({c.channels}, 3);
    const int64_t rows = (c.times - 1) / 2, bands = (c.bands + c.lead) / 2;
    fixture::GuardedOutput out({rows, bands, c.channels});
    fixture::Bench bench(2, GetParam());
    depthwise_patches(bench.ctx, bench.on(x), bench.on(taps), bench.on(bias), c.lead,
                      bench.on(out.view()));
    bench.back();
    for (int64_t i = 0; i < out.view().count(); ++i) {
      const int64_t k = i % c.channels, band = i / c.channels % bands, row = i / c.channels / bands;
      float sum = bias.f32()[k];
      for (int64_t t = 0; t < 9; ++t) {
        const int64_t from = 2 * band + t % 3 - c.lead;
        if (from < 0 || from >= c.bands) continue;
        const int64_t at = ((2 * row + t / 3) * c.bands + from) * c.inputs + k % c.inputs;
        sum += taps.f32()[t * c.channels + k] * x.f32()[at];
      }
      ASSERT_NEAR(out.view().f32()[i], sum, 1e-6) << x.shape().str() << " " << i;
    }
    EXPECT_TRUE(out.clean());
  }
}

TEST_P(PatchesTest, MovesChannelsBeforeBandsAndMultiplies) {
  const Tensor x = fixture::random({3, 5, 7}, 1), y = fixture::random({3, 35}, 2);
  fixture::GuardedOutput out({3, 35});
  fixture::Bench bench(2, GetParam());
  channels_first(bench.ctx, bench.on(x), bench.on(out.view()));
  multiply(bench.ctx, bench.on(out.view()), bench.on(y));
  bench.back();
  for (int64_t i = 0; i < 105; ++i) {
    const int64_t row = i / 35, channel = i % 35 / 5, band = i % 5;
    EXPECT_EQ(out.view().f32()[i], x.f32()[(row * 5 + band) * 7 + channel] * y.f32()[i]) << i;
  }
  EXPECT_TRUE(out.clean());
}

TEST(Patches, MustFitTheirPlanes) {
  fixture::Bench bench;
  const Tensor x = fixture::random({1, 4, 4, 2}, 1), out = fixture::poisoned({4, 18});
  EXPECT_NO_THROW(gather_patches(bench.ctx, x, 0, out));
  EXPECT_THROW(gather_patches(bench.ctx, x, 1, out), InternalError);
  EXPECT_THROW(gather_patches(bench.ctx, x, 0, fixture::poisoned({4, 9})), InternalError);
  EXPECT_THROW(
      depthwise_patches(bench.ctx, fixture::random({4, 4, 2}, 1), fixture::random({9, 2}, 1),
                        fixture::random({2}, 1), 1, fixture::poisoned({2, 2, 2})),
      InternalError);
  EXPECT_THROW(mean_rows(bench.ctx, fixture::random({5, 18}, 1), fixture::poisoned({2, 18})),
               InternalError);
}

}  // namespace
}  // namespace syrinx
