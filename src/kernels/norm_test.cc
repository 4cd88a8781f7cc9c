#include "kernels/norm.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"
#include "kernels/norm_impl.h"

namespace syrinx {
namespace {

using fixture::Bench;

TEST(Norm, AgreesWithPlainLoops) {
  Bench bench(2);
  for (const int64_t width : {1, 7, 8, 24, 33, 384, 1000, 1024}) {
    const Tensor x = fixture::random({5, width}, 1, 3), w = fixture::random({width}, 2),
                 b = fixture::random({width}, 3);
    Tensor out = fixture::poisoned({5, width}), want({5, width}, DType::kF32);
    rms_norm(bench.ctx, x, w, 1e-6f, out);
    for (int i = 0; i < 5; ++i)
      ref::rms_norm_row(x.f32() + i * width, w.f32(), width, 1e-6f, want.f32() + i * width);
    EXPECT_LT(fixture::difference(out, want), 1e-6) << width;

    for (int i = 0; i < 5; ++i)
      ref::layer_norm_row(x.f32() + i * width, w.f32(), b.f32(), width, 1e-5f,
                          want.f32() + i * width);
    layer_norm(bench.ctx, x, w, b, 1e-5f, out);
    EXPECT_LT(fixture::difference(out, want), 2e-6) << width;
  }
}

TEST(Norm, ResidualHeadsAndNoAffine) {
  Bench bench;
  Tensor x = fixture::random({3, 40}, 1);
  const Tensor delta = fixture::random({3, 40}, 2), w = fixture::random({40}, 3);
  Tensor sum = x.clone(), out({3, 40}, DType::kF32), want({3, 40}, DType::kF32);
  for (int i = 0; i < 120; ++i) sum.f32()[i] += delta.f32()[i];
  add_rms_norm(bench.ctx, x, delta, w, 1e-5f, out);
  EXPECT_TRUE(fixture::same_bits(x, sum));
  rms_norm(bench.ctx, sum, w, 1e-5f, want);
  EXPECT_TRUE(fixture::same_bits(out, want));

  // Heads 8..24 of each row, two of 8, the rest untouched.
  const Tensor hw = fixture::random({8}, 4);
  Tensor rows = sum.clone();
  rms_norm_heads(bench.ctx, {rows, 8, 2, 8}, hw, 1e-5f);
  Tensor head({1, 8}, DType::kF32);
  for (int h = 0; h < 2; ++h) {
    std::copy_n(sum.f32() + 40 + 8 + 8 * h, 8, head.f32());
    rms_norm(bench.ctx, head, hw, 1e-5f, head);
    EXPECT_EQ(std::memcmp(head.f32(), rows.f32() + 40 + 8 + 8 * h, 32), 0);
  }
  EXPECT_EQ(rows.f32()[40 + 7], sum.f32()[40 + 7]);
  EXPECT_EQ(rows.f32()[40 + 24], sum.f32()[40 + 24]);

  layer_norm(bench.ctx, sum, {}, {}, 0, out);
  double mean = 0, square = 0;
  for (int i = 0; i < 40; ++i) mean += out.f32()[i], square += out.f32()[i] * out.f32()[i];
  EXPECT_NEAR(mean / 40, 0, 1e-6);
  EXPECT_NEAR(square / 40, 1, 1e-5);
}

TEST(Norm, SameBitsAloneAndInABatch) {
  Bench one(1), three(3);
  const Tensor x = fixture::random({64, 1023}, 1), w = fixture::random({1023}, 2);
  Tensor batch({64, 1023}, DType::kF32), row({1, 1023}, DType::kF32);
  rms_norm(three.ctx, x, w, 1e-6f, batch);
  for (const int i : {0, 17, 63}) {
    rms_norm(one.ctx, x.view().slice(i, i + 1), w, 1e-6f, row);
    EXPECT_TRUE(fixture::same_bits(row, batch.view().slice(i, i + 1)));
  }
}

TEST(Norm, WrongUseIsNamed) {
  Bench bench;
  const Tensor x = fixture::random({4, 512}, 1), w = fixture::random({100}, 2);
  try {
    rms_norm(bench.ctx, x, w, 0, x);
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find("[rms_norm] x [4, 512] and weight [100]"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace syrinx
