#include "io/quantized_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"

namespace syrinx {
namespace {

/// A checkpoint in memory.
class Held : public WeightSource {
 public:
  std::map<std::string, Tensor> tensors;

  std::string where(const std::string&) const override { return "held"; }
  bool has(const std::string& name) const override { return tensors.contains(name); }
  std::string describe(const std::string& name) const override {
    const Tensor& t = tensors.at(name);
    return std::string(dtype_name(t.dtype())) + " " + t.shape().str();
  }
  std::optional<Shape> shape(const std::string& name) const override {
    const auto at = tensors.find(name);
    return at == tensors.end() ? std::nullopt : std::optional(at->second.shape());
  }
  View take(const std::string& name, const Shape& want) override {
    return shape(name) == want ? tensors.at(name).view() : View{};
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto& [name, tensor] : tensors) all.push_back(name);
    return all;
  }
};

constexpr int64_t kOut = 8, kIn = 64;

Tensor integers(const Shape& shape, std::initializer_list<uint32_t> repeat) {
  Tensor t(shape, DType::kI32);
  for (int64_t i = 0; i < t.view().count(); ++i) {
    t.i32()[i] = static_cast<int32_t>(repeat.begin()[static_cast<size_t>(i) % repeat.size()]);
  }
  return t;
}

/// Returns a linear in which input 8n + j of output o is (o + j) % 16. Zeros are 3 + o in the first
/// group and 1 in the second; scales are 0.5 and 2.
std::unique_ptr<Held> gptq() {
  auto held = std::make_unique<Held>();
  Tensor numbers({kIn / 8, kOut}, DType::kI32), scales({2, kOut}, DType::kF32);
  for (int64_t o = 0; o < kOut; ++o) {
    uint32_t word = 0;
    for (uint32_t j = 0; j < 8; ++j) word |= (static_cast<uint32_t>(o) + j) % 16 << (4 * j);
    for (int64_t i = 0; i < kIn / 8; ++i) numbers.i32()[i * kOut + o] = static_cast<int32_t>(word);
    scales.f32()[o] = 0.5f;
    scales.f32()[kOut + o] = 2;
  }
  held->tensors["l.qweight"] = std::move(numbers);
  held->tensors["l.qzeros"] = integers({2, 1}, {0x98765432u, 0});
  held->tensors["l.scales"] = std::move(scales);
  return held;
}

QuantizedLayout layout() { return {QuantizedLayout::Method::kGptq, 32, 1}; }

float expected(int64_t o, int64_t i, bool second) {
  const float zero = second ? 1.0f : 3.0f + static_cast<float>(o);
  return (second ? 2.0f : 0.5f) * (static_cast<float>((o + i % 8) % 16) - zero);
}

TEST(QuantizedWeights, GroupsFollowOneAnotherByDefault) {
  for (const bool shuffled : {false, true}) {
    auto held = gptq();
    if (shuffled) held->tensors["l.g_idx"] = integers({kIn}, {1, 0, 0});
    const auto source = dequantized(std::move(held), layout());
    const View weight = source->take("l.weight", {kOut, kIn});
    ASSERT_FALSE(weight.empty());
    for (int64_t o = 0; o < kOut; ++o) {
      for (int64_t i = 0; i < kIn; ++i) {
        const bool second = shuffled ? i % 3 == 0 : i >= 32;
        ASSERT_EQ(weight.f32()[o * kIn + i], expected(o, i, second)) << o << " " << i;
      }
    }
  }
}

TEST(QuantizedWeights, ListsWeightsInPlaceOfTheirParts) {
  auto held = gptq();
  held->tensors["l.g_idx"] = integers({kIn}, {0});
  held->tensors["l.bias"] = Tensor({kOut}, DType::kF16);  // all zeros, so the source omits it
  held->tensors["other.bias"] = Tensor({kOut}, DType::kF16);
  held->tensors["other.scales"] = Tensor({kOut}, DType::kF16);
  const auto source = dequantized(std::move(held), layout());
  EXPECT_EQ(source->names(), (std::vector<std::string>{"l.weight", "other.bias", "other.scales"}));
  EXPECT_TRUE(source->has("l.weight") && source->has("l.bias"));
  EXPECT_FALSE(source->has("other.weight"));
  EXPECT_EQ(source->shape("l.weight"), (Shape{kOut, kIn}));
}

TEST(QuantizedWeights, ABiasThatCountsIsListed) {
  auto held = gptq();
  held->tensors["l.bias"] = Tensor({kOut}, DType::kF32);
  held->tensors["l.bias"].f32()[3] = 1;
  const auto names = dequantized(std::move(held), layout())->names();
  EXPECT_NE(std::find(names.begin(), names.end(), "l.bias"), names.end());
}

TEST(QuantizedWeights, PartsThatDoNotFitAreNotTaken) {
  const auto refused = [](const std::string& name, Tensor part) {
    auto held = gptq();
    if (part.empty()) {
      held->tensors.erase(name);
    } else {
      held->tensors[name] = std::move(part);
    }
    const Weights weights(dequantized(std::move(held), layout()));
    weights.take("l.weight", {kOut, kIn});
    return weights.report().faults();
  };
  EXPECT_NE(refused("l.g_idx", integers({kIn}, {0, 1, 2})), "");
  EXPECT_NE(refused("l.g_idx", integers({kIn}, {0xffffffffu})), "");
  EXPECT_NE(refused("l.g_idx", integers({kIn - 1}, {0})), "");
  EXPECT_NE(refused("l.qzeros", integers({1, 1}, {0})), "");
  EXPECT_NE(refused("l.qzeros", {}), "");
  EXPECT_NE(refused("l.scales", integers({2, kOut}, {0})), "");
  EXPECT_NE(refused("l.scales", Tensor({2, kOut + 8}, DType::kF32)), "");
  EXPECT_NE(refused("l.qweight", integers({kIn / 8 - 1, kOut}, {0})), "");
  EXPECT_NE(refused("l.qweight", Tensor({kIn / 8, kOut}, DType::kF32)), "");
  const std::string fault = refused("l.scales", Tensor({1, kOut}, DType::kF32));
  EXPECT_NE(fault.find("scales f32 [1, 8], groups of 32"), std::string::npos) << fault;
}

}  // namespace
}  // namespace syrinx
