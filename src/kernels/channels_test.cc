#include "kernels/channels.h"

#include <cmath>

#include "kernels/channels_impl.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

TEST(Channels, MomentsAreThoseOfDoubles) {
  for (const int64_t rows : {1, 2, 31, 32, 255, 256, 257, 1100}) {
    for (const int64_t width : {1, 7, 8, 33, 47, 128}) {
      Tensor x = fixture::random({rows, width}, 1, 0.01f);
      // The mean is large relative to the deviation.
      for (int64_t i = 0; i < x.view().count(); ++i) x.f32()[i] += 30;
      Bench bench(2);
      std::vector<double> mean(width), variance(width);
      channel_moments(bench.ctx, x, mean, variance);
      for (int64_t c = 0; c < width; ++c) {
        double sum = 0, squares = 0;
        for (int64_t t = 0; t < rows; ++t) sum += x.f32()[t * width + c];
        const double want = sum / static_cast<double>(rows);
        for (int64_t t = 0; t < rows; ++t) {
          const double d = x.f32()[t * width + c] - want;
          squares += d * d;
        }
        const double spread = squares / static_cast<double>(rows);
        ASSERT_NEAR(mean[c], want, 1e-7) << rows << " x " << width;
        ASSERT_NEAR(variance[c], spread, 3e-6 * spread + 1e-15) << rows << " x " << width;
      }
    }
  }
}

class ChannelScales : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ChannelScales, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(ChannelScales, GroupsHaveACommonNorm) {
  for (const int64_t rows : {1, 7, 513}) {
    for (const int64_t groups : {1, 4, 24}) {
      constexpr int64_t kWidth = 24;
      const int64_t each = kWidth / groups;
      Tensor x = fixture::random({rows, kWidth}, 1, 0.5f);
      for (int64_t i = 0; i < x.view().count(); ++i) x.f32()[i] += static_cast<float>(i % kWidth);
      const Tensor before = x.clone(), gain = fixture::random({kWidth}, 2),
                   shift = fixture::random({kWidth}, 3);
      Bench bench(2, GetParam());
      group_norm(bench.ctx, bench.on(x), bench.on(gain), bench.on(shift), groups, 1e-5f);
      bench.back();
      for (int64_t c = 0; c < kWidth; ++c) {
        const auto count = static_cast<double>(rows * each);
        double mean = 0, spread = 0;
        const auto over = [&](auto&& take) {
          for (int64_t t = 0; t < rows; ++t)
            for (int64_t i = c / each * each; i < c / each * each + each; ++i)
              take(double{before.f32()[t * kWidth + i]});
        };
        over([&](double value) { mean += value / count; });
        over([&](double value) { spread += (value - mean) * (value - mean) / count; });
        for (int64_t t = 0; t < rows; t += 29) {
          const double want =
              (before.f32()[t * kWidth + c] - mean) / std::sqrt(spread + 1e-5) * gain.f32()[c] +
              shift.f32()[c];
          // With one number in a group, only the rounding of the mean is left.
          ASSERT_NEAR(x.f32()[t * kWidth + c], want, count == 1 ? 1e-2 : 1e-4)
              << rows << " rows, " << groups << " groups";
        }
      }
    }
  }
}

TEST_P(ChannelScales, NormaliseAllRows) {
  for (const int64_t rows : {1, 7, 512, 513, 1300}) {
    for (const int64_t width : {1, 31, 33, 96}) {
      Tensor x = fixture::random({rows, width}, 1, 0.5f);
      for (int64_t i = 0; i < x.view().count(); ++i) x.f32()[i] += 30;
      const Tensor gain = fixture::random({width}, 2), shift = fixture::random({width}, 3),
                   alpha = fixture::random({width}, 4), inv = fixture::random({width}, 5);
      Tensor factor = fixture::poisoned({width}), summand = fixture::poisoned({width}),
             out = fixture::poisoned({rows, width}), bent = fixture::poisoned({rows, width});
      Bench bench(2, GetParam());
      normalising_scale(bench.ctx, bench.on(x), bench.on(gain), bench.on(shift), 1e-5f,
                        bench.on(factor), bench.on(summand));
      scale_channels(bench.ctx, bench.on(x), bench.on(factor), bench.on(summand), bench.on(out));
      scale_channels_snake(bench.ctx, bench.on(x), bench.on(factor), bench.on(summand),
                           bench.on(alpha), bench.on(inv), bench.on(bent));
      bench.back();
      for (int64_t c = 0; c < width; ++c) {
        double mean = 0, spread = 0;
        for (int64_t t = 0; t < rows; ++t) mean += x.f32()[t * width + c] / double(rows);
        for (int64_t t = 0; t < rows; ++t)
          spread += std::pow(x.f32()[t * width + c] - mean, 2) / double(rows);
        for (int64_t t = 0; t < rows; t += 97) {
          const int64_t i = t * width + c;
          const double want =
              (x.f32()[i] - mean) / std::sqrt(spread + 1e-5) * gain.f32()[c] + shift.f32()[c];
          const double s = std::sin(alpha.f32()[c] * want);
          // The mean is 60 deviations away, or, with one row, 1e4.
          const double bound = rows == 1 ? 1e-2 : 1e-4;
          ASSERT_NEAR(out.f32()[i], want, bound) << rows << " x " << width;
          ASSERT_NEAR(bent.f32()[i], want + s * s * inv.f32()[c], 4 * bound)
              << rows << " x " << width;
        }
      }
    }
  }
}

TEST(Channels, MomentsHaveTheSameBitsWithAnyThreads) {
  const Tensor x = fixture::random({1500, 40}, 2, 3);
  std::vector<double> mean(40), variance(40);
  Bench one(1);
  channel_moments(one.ctx, x, mean, variance);
  for (const int threads : {2, 3, 5}) {
    Bench bench(threads);
    std::vector<double> other(40), spread(40);
    channel_moments(bench.ctx, x, other, spread);
    EXPECT_EQ(other, mean);
    EXPECT_EQ(spread, variance);
  }
}

TEST(Channels, SumsAndRowsAgreeWithPlainLoops) {
  for (const int64_t width : {1, 7, 8, 24, 33, 100}) {
    const Tensor x = fixture::random({6, width}, 1, 3), f = fixture::random({width}, 2),
                 s = fixture::random({width}, 3), a = fixture::random({width}, 4),
                 b = fixture::random({width}, 5);
    Tensor sums({2 * width}, DType::kF32), want({2 * width}, DType::kF32);
    simd::channel_sums(x.f32(), s.f32(), 6, width, sums.f32());
    ref::channel_sums(x.f32(), s.f32(), 6, width, want.f32());
    EXPECT_LT(fixture::difference(sums, want), 1e-6) << width;

    Bench bench(2);
    const fixture::GuardedOutput out({6, width}), snaked({6, width});
    scale_channels(bench.ctx, x, f, s, out.view());
    scale_channels_snake(bench.ctx, x, f, s, a, b, snaked.view());
    EXPECT_TRUE(out.clean() && snaked.clean()) << width;
    Tensor rows({6, width}, DType::kF32), bent({6, width}, DType::kF32);
    for (int64_t t = 0; t < 6; ++t) {
      const float* row = x.f32() + t * width;
      ref::scale_row(row, f.f32(), s.f32(), width, rows.f32() + t * width);
      ref::scale_snake_row(row, f.f32(), s.f32(), a.f32(), b.f32(), width, bent.f32() + t * width);
    }
    EXPECT_LT(fixture::difference(out.view(), rows), 1e-6) << width;
    EXPECT_LT(fixture::difference(snaked.view(), bent), 2e-6) << width;
  }
}

TEST(Channels, ShapesAreChecked) {
  Bench bench;
  const Tensor x = fixture::random({4, 8}, 1), wide = fixture::random({9}, 2);
  std::vector<double> mean(8), short_one(7);
  EXPECT_THROW(channel_moments(bench.ctx, x, mean, short_one), InternalError);
  EXPECT_THROW(scale_channels(bench.ctx, x, wide, wide, x), InternalError);
}

}  // namespace
}  // namespace syrinx
