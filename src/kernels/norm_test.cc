#include "kernels/norm.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"
#include "kernels/norm_impl.h"

namespace syrinx {
namespace {

using fixture::Bench;

class NormTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, NormTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(NormTest, AgreesWithPlainLoops) {
  Bench bench(2, GetParam());
  for (const int64_t width : {1, 7, 8, 24, 33, 384, 1000, 1024}) {
    const Tensor x = fixture::random({5, width}, 1, 3), w = fixture::random({width}, 2),
                 b = fixture::random({width}, 3);
    Tensor out = fixture::poisoned({5, width}), want({5, width}, DType::kF32);
    rms_norm(bench.ctx, bench.on(x), bench.on(w), 1e-6f, bench.on(out));
    bench.back();
    for (int i = 0; i < 5; ++i)
      ref::rms_norm_row(x.f32() + i * width, w.f32(), width, 1e-6f, want.f32() + i * width);
    EXPECT_LT(fixture::difference(out, want), 1e-6) << width;

    for (int i = 0; i < 5; ++i)
      ref::layer_norm_row(x.f32() + i * width, w.f32(), b.f32(), width, 1e-5f,
                          want.f32() + i * width);
    layer_norm(bench.ctx, bench.on(x), bench.on(w), bench.on(b), 1e-5f, bench.on(out));
    bench.back();
    EXPECT_LT(fixture::difference(out, want), 2e-6) << width;
  }
}

TEST_P(NormTest, ResidualHeadsAndNoAffine) {
  Bench bench(1, GetParam());
  Tensor x = fixture::random({3, 40}, 1);
  const Tensor delta = fixture::random({3, 40}, 2), w = fixture::random({40}, 3);
  Tensor sum = x.clone(), out({3, 40}, DType::kF32), want({3, 40}, DType::kF32);
  for (int i = 0; i < 120; ++i) sum.f32()[i] += delta.f32()[i];
  add_rms_norm(bench.ctx, bench.on(x), bench.on(delta), bench.on(w), 1e-5f, bench.on(out));
  bench.back();
  EXPECT_TRUE(fixture::same_bits(x, sum));
  rms_norm(bench.ctx, bench.on(sum), bench.on(w), 1e-5f, bench.on(want));
  bench.back();
  EXPECT_TRUE(fixture::same_bits(out, want));

  // Two heads of size 8, in columns 8..24 of each row. The other columns must not change.
  const Tensor hw = fixture::random({8}, 4);
  Tensor rows = sum.clone();
  rms_norm_heads(bench.ctx, {bench.on(rows), 8, 2, 8}, bench.on(hw), 1e-5f);
  bench.back();
  Tensor head({1, 8}, DType::kF32);
  for (int h = 0; h < 2; ++h) {
    std::copy_n(sum.f32() + 40 + 8 + 8 * h, 8, head.f32());
    rms_norm(bench.ctx, bench.on(head), bench.on(hw), 1e-5f, bench.on(head));
    bench.back();
    EXPECT_EQ(std::memcmp(head.f32(), rows.f32() + 40 + 8 + 8 * h, 32), 0);
  }
  EXPECT_EQ(rows.f32()[40 + 7], sum.f32()[40 + 7]);
  EXPECT_EQ(rows.f32()[40 + 24], sum.f32()[40 + 24]);

  layer_norm(bench.ctx, bench.on(sum), {}, {}, 0, bench.on(out));
  bench.back();
  double mean = 0, square = 0;
  for (int i = 0; i < 40; ++i) mean += out.f32()[i], square += out.f32()[i] * out.f32()[i];
  EXPECT_NEAR(mean / 40, 0, 1e-6);
  EXPECT_NEAR(square / 40, 1, 1e-5);
}

TEST_P(NormTest, SameBitsAloneAndInABatch) {
  Bench one(1, GetParam()), three(3, GetParam());
  const Tensor x = fixture::random({64, 1023}, 1), w = fixture::random({1023}, 2);
  Tensor batch({64, 1023}, DType::kF32), row({1, 1023}, DType::kF32);
  rms_norm(three.ctx, three.on(x), three.on(w), 1e-6f, three.on(batch));
  three.back();
  for (const int i : {0, 17, 63}) {
    rms_norm(one.ctx, one.on(x.view().slice(i, i + 1)), one.on(w), 1e-6f, one.on(row));
    one.back();
    EXPECT_TRUE(fixture::same_bits(row, batch.view().slice(i, i + 1)));
  }
}

TEST_P(NormTest, WrongUseIsNamed) {
  Bench bench(1, GetParam());
  const Tensor x = fixture::random({4, 512}, 1), w = fixture::random({100}, 2);
  try {
    rms_norm(bench.ctx, bench.on(x), bench.on(w), 0, bench.on(x));
    bench.back();
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("[rms_norm] x [4, 512] and weight [100]"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace syrinx
