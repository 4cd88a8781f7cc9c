#include "kernels/copy.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

class CopyTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, CopyTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(CopyTest, SpansOfAnyLengths) {
  fixture::Bench bench(2, GetParam());
  const Tensor x = fixture::random({1000}, 1);
  Tensor out = fixture::poisoned({1000});
  const float* from = bench.on(x).f32();
  float* to = bench.on(out).f32();
  // In turn: bits, zeros, a leaky ReLU, nothing; the numbers from 900 on stay.
  const CopySpan copies[] = {{from, to + 1, 300},
                             {nullptr, to + 301, 99},
                             {from + 400, to + 400, 499, 0.1f},
                             {from, to, 0}};
  copy_spans(bench.ctx, copies);
  const CopySpan sums[] = {{from, to + 500, 1}, {from + 7, to + 600, 257}, {from, to, 0}};
  add_spans(bench.ctx, sums);
  bench.back();
  for (int i = 0; i < 1000; ++i) {
    const float got = out.f32()[i];
    if (i == 0 || i >= 899) {
      EXPECT_TRUE(std::isnan(got)) << i;
      continue;
    }
    if (i == 300 || i == 400 || i == 500) continue;  // borders are in the next loop
    float want = i <= 300 ? x.f32()[i - 1] : i < 400 ? 0.f : x.f32()[i];
    if (i > 400 && want < 0) want *= 0.1f;
    if (i >= 600 && i < 857) want += x.f32()[i - 593];
    EXPECT_EQ(got, want) << i;
  }
  EXPECT_EQ(out.f32()[300], x.f32()[299]);
  EXPECT_EQ(out.f32()[301], 0.f);
  const auto leaky = [&](int i) { return x.f32()[i] > 0 ? x.f32()[i] : 0.1f * x.f32()[i]; };
  EXPECT_EQ(out.f32()[400], leaky(400));
  EXPECT_EQ(out.f32()[500], leaky(500) + x.f32()[0]);
}

TEST_P(CopyTest, ColumnsSideBySide) {
  fixture::Bench bench(2, GetParam());
  const Tensor a = fixture::random({5, 7}, 1), b = fixture::random({5, 1}, 2);
  Tensor out = fixture::poisoned({5, 10});
  copy_columns(bench.ctx, bench.on(a), 1, bench.on(out));
  copy_columns(bench.ctx, bench.on(b), 8, bench.on(out));
  EXPECT_THROW(copy_columns(bench.ctx, bench.on(a), 4, bench.on(out)), InternalError);
  bench.back();
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 10; ++j) {
      const float got = out.f32()[i * 10 + j];
      if (j == 0 || j == 9) {
        EXPECT_TRUE(std::isnan(got));
      } else {
        EXPECT_EQ(got, j < 8 ? a.f32()[i * 7 + j - 1] : b.f32()[i]);
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
