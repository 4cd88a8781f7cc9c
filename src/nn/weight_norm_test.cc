#include "nn/weight_norm.h"

#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

TEST(WeightNorm, FoldsBothForms) {
  const TestDir dir;
  const Tensor v = fixture::random({2, 2, 2}, 1);
  Tensor g({2, 1, 1}, DType::kF32);
  g.f32()[0] = 2, g.f32()[1] = -3;
  {
    SafetensorsWriter writer(dir.path("model.safetensors"));
    writer.add("plain.weight", v);
    writer.add("old.weight_g", g);
    writer.add("old.weight_v", v);
    writer.add("new.parametrizations.weight.original0", g);
    writer.add("new.parametrizations.weight.original1", v);
    writer.add("broken.weight_v", v);
    writer.finish();
  }
  const Weights root(open_weights(dir.path()));
  EXPECT_TRUE(fixture::same_bits(folded_weight(root.scope("plain"), {2, 2, 2}), v));
  const Tensor w = folded_weight(root.scope("old"), {2, 2, 2});
  for (int row = 0; row < 2; ++row) {
    double power = 0;
    for (int i = 0; i < 4; ++i) power += double{w.f32()[row * 4 + i]} * w.f32()[row * 4 + i];
    EXPECT_NEAR(std::sqrt(power), row ? 3 : 2, 1e-6);
  }
  EXPECT_NEAR(w.f32()[1] / w.f32()[0], v.f32()[1] / v.f32()[0], 1e-5);
  EXPECT_LT(w.f32()[4] * v.f32()[4], 0);  // a negative gain changes the sign
  EXPECT_TRUE(fixture::same_bits(folded_weight(root.scope("new"), {2, 2, 2}), w));
  folded_weight(root.scope("broken"), {2, 2, 2});
  folded_weight(root.scope("gone"), {2, 2, 2});
  const WeightReport report = root.report();
  EXPECT_EQ(report.missing, (std::vector<std::string>{"broken.weight_g", "gone.weight"}));
  EXPECT_TRUE(report.unused.empty());
}

TEST(WeightNorm, ARowOfZerosStaysOne) {
  const TestDir dir;
  Tensor v({2, 2}, DType::kF32), g({2, 1}, DType::kF32);
  v.f32()[2] = 3, v.f32()[3] = 4;
  g.f32()[0] = 1, g.f32()[1] = 10;
  {
    SafetensorsWriter writer(dir.path("model.safetensors"));
    writer.add("a.weight_g", g);
    writer.add("a.weight_v", v);
    writer.finish();
  }
  const Weights root(open_weights(dir.path()));
  const Tensor w = folded_weight(root.scope("a"), {2, 2});
  for (int i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(w.f32()[i], i < 2 ? 0.f : i == 2 ? 6.f : 8.f);
}

}  // namespace
}  // namespace syrinx
