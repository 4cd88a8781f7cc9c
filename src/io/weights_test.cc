#include "io/weights.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/float16.h"
#include "io/safetensors.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    Tensor head({3, 2}, DType::kBF16), norm({2}, DType::kF32), count({1}, DType::kI64);
    for (int i = 0; i < 6; ++i) head.view().bf16()[i] = f32_to_bf16(static_cast<float>(i));
    SafetensorsWriter writer(dir_.path("model.safetensors"));
    writer.add("talker.head.weight", head);
    writer.add("talker.layers.0.norm.weight", norm);
    writer.add("talker.count", count);
    writer.add("speaker.w", norm);
    writer.finish();
  }
  Weights open() { return Weights(open_weights(dir_.path())); }
  TestDir dir_;
};

TEST_F(WeightsTest, TakesByScope) {
  const Weights talker = open().scope("talker");  // the source lives on in its scopes
  EXPECT_TRUE(talker.has("head.weight"));
  EXPECT_EQ(talker.shape("head.weight"), (Shape{3, 2}));
  const View head = talker.take("head.weight", {3, 2});
  EXPECT_EQ(head.dtype, DType::kBF16);
  const Tensor wide = talker.f32("head.weight", {3, 2});
  EXPECT_EQ(wide.f32()[5], 5.f);
  talker.scope("layers", 0).scope("norm").f32("weight", {2});
  talker.take("count", {1});
  EXPECT_EQ(talker.finish(), "");
}

TEST_F(WeightsTest, ListsAllFaultsAtOnce) {
  const Weights root = open(), talker = root.scope("talker");
  const Tensor zeros = talker.f32("head.weight", {3, 4});
  EXPECT_EQ(zeros.f32()[11], 0.f);
  EXPECT_EQ(talker.take("gone", {1000, 1000}).bf16()[999999], 0);
  talker.f32("count", {1});
  try {
    root.finish();
    FAIL();
  } catch (const LoadError& error) {
    const std::string text = error.what();
    const std::string file = dir_.path("model.safetensors");
    EXPECT_TRUE(text.starts_with(file + ": missing tensors (1):\n  talker.gone\n")) << text;
    EXPECT_NE(text.find(file + ": tensor talker.head.weight: expected [3, 4], got bf16 [3, 2]"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("tensor talker.count: expected f32, bf16 or f16 [1], got i64 [1]"),
              std::string::npos)
        << text;
  }
  EXPECT_NO_THROW(root.scope("speaker").finish());
}

TEST_F(WeightsTest, UnusedIsAWarning) {
  const Weights root = open();
  root.scope("talker").take("head.weight", {3, 2});
  EXPECT_EQ(root.finish(),
            "unused tensors (3): speaker.w talker.count talker.layers.0.norm.weight");
  EXPECT_EQ(root.scope("speaker").report().unused, std::vector<std::string>{"speaker.w"});
  root.ignore("speaker.");
  root.scope("talker").ignore("");
  EXPECT_EQ(root.finish(), "");
}

TEST_F(WeightsTest, LongListsAreCut) {
  const Weights root = open();
  for (int i = 0; i < 100; ++i) root.take(concat("x", i), {1});
  const std::string text = root.report().faults();
  EXPECT_NE(text.find("missing tensors (100)"), std::string::npos);
  EXPECT_NE(text.find("and 90 more"), std::string::npos);
}

TEST_F(WeightsTest, UnreadableTypeIsCollected) {
  const std::string header = R"({"w":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})";
  const uint64_t size = header.size();
  const auto path =
      dir_.write("d.safetensors", std::string(reinterpret_cast<const char*>(&size), 8) + header +
                                      std::string(8, '\0'));
  const Weights root(open_weights(path));
  root.take("w", {1});
  EXPECT_NE(root.report().faults().find("got F64 [1]"), std::string::npos);
}

TEST(DummyWeights, HaveTheRightScaleAndCostLittle) {
  const Weights root(dummy_weights([](const std::string& name) { return name == "lm_head"; }));
  EXPECT_TRUE(root.has("lm_head"));
  EXPECT_FALSE(root.has("bias"));
  const View w = root.take("w", {3000, 1024});
  double square = 0, sum = 0;
  for (int64_t i = 0; i < w.count(); ++i) {
    const double x = bf16_to_f32(w.bf16()[i]);
    sum += x, square += x * x;
  }
  const auto count = static_cast<double>(w.count());
  EXPECT_NEAR(std::sqrt(square / count), 1.0 / 32, 1e-3);
  EXPECT_NEAR(sum / count, 0, 1e-3);
  EXPECT_EQ(root.f32("norm.weight", {7}).f32()[6], 1.f);
  EXPECT_EQ(root.f32("q_proj.bias", {7}).f32()[6], 0.f);
  for (int i = 0; i < 50; ++i) root.take("big", {100'000, 2048});  // 20 GB of address space
  EXPECT_EQ(root.finish(), "");
}

TEST(FloatTypes, Convert) {
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(1.5f)), 1.5f);
  EXPECT_EQ(f32_to_bf16(1.00390625f), 0x3f80);  // halfway: to even
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::nanf("")))));
  EXPECT_TRUE(std::isinf(bf16_to_f32(f32_to_bf16(INFINITY))));
  EXPECT_EQ(f16_to_f32(0x3c00), 1.f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.f);
  EXPECT_TRUE(std::isinf(f16_to_f32(0x7c00)));
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7e00)));
}

}  // namespace
}  // namespace syrinx
