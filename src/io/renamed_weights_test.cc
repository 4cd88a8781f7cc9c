// Tests tensors that a file has under other names than the networks.
#include "io/renamed_weights.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/safetensors.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

TEST(RenamedWeights, FirstSizesOfOneMayBeMissingAndFaultsHaveTheNamesOfTheFile) {
  const TestDir dir;
  SafetensorsWriter writer(dir.path("model.safetensors"));
  const Tensor alpha({1, 1, 4}, DType::kF32), wide({2, 4}, DType::kF32), other({3}, DType::kF32);
  writer.add("norm.alpha", alpha);
  writer.add("out.alpha", wide);
  writer.add("other", other);
  writer.finish();
  const Weights weights(renamed(open_weights(dir.path()), {{"norm.weight", "norm.alpha"},
                                                           {"out.weight", "out.alpha"},
                                                           {"head.weight", "linear.weight"}}));
  EXPECT_EQ(weights.take("norm.weight", {4}).shape, (Shape{4}));
  weights.take("out.weight", {8});
  weights.take("head.weight", {4});
  const WeightReport report = weights.report();
  EXPECT_EQ(report.missing, std::vector<std::string>{"linear.weight"});
  ASSERT_EQ(report.wrong.size(), 1u);
  EXPECT_NE(report.wrong[0].find("tensor out.alpha: expected"), std::string::npos);
  EXPECT_EQ(report.unused, std::vector<std::string>{"other"});
}

TEST(RenamedWeights, FaultsOfWrappedSourcesNameTheStoredTensor) {
  const TestDir dir;
  SafetensorsWriter writer(dir.path("model.safetensors"));
  writer.add("stored", Tensor({2}, DType::kF32));
  writer.finish();
  const Weights weights(renamed(renamed(open_weights(dir.path()), {{"between", {"stored"}}}),
                                {{"ours", {"between"}}}));
  EXPECT_EQ(weights.take("ours", {2}).count(), 2);
  weights.take("ours", {3});
  ASSERT_EQ(weights.report().wrong.size(), 1u);
  EXPECT_NE(weights.report().wrong[0].find("tensor stored: expected"), std::string::npos);
}

TEST(RenamedWeights, NamesMayMeanEqualPartsOfATensor) {
  const TestDir dir;
  SafetensorsWriter writer(dir.path("model.safetensors"));
  const Tensor sets({6, 2}, DType::kF32);
  for (int i = 0; i < 12; ++i) sets.f32()[i] = static_cast<float>(i);
  writer.add("in_proj", sets);
  writer.finish();
  const auto part = [](int64_t i, int64_t parts) { return StoredTensor("in_proj", i, parts); };
  const Weights weights(
      renamed(open_weights(dir.path()),
              {{"0.qkv", part(0, 3)}, {"2.qkv", part(2, 3)}, {"odd", part(0, 4)}}));
  EXPECT_EQ(weights.shape("2.qkv"), (Shape{2, 2}));
  EXPECT_EQ(weights.take("0.qkv", {2, 2}).f32()[3], 3);
  EXPECT_EQ(weights.take("2.qkv", {2, 2}).f32()[0], 8);
  EXPECT_TRUE(weights.report().wrong.empty());
  weights.take("odd", {1, 2});
  ASSERT_EQ(weights.report().wrong.size(), 1u);
  EXPECT_NE(weights.report().wrong[0].find("tensor in_proj: expected"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
