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

}  // namespace
}  // namespace syrinx
