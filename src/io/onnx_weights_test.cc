#include "io/onnx_weights.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "io/onnx_fixture.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

using namespace onnx_fixture;

std::string small_model() {
  return model(
      {node("Conv", "/head/layer1/layer1.0/conv1/Conv", {"x", "onnx::Conv_7", "b"}),
       node("MatMul", "/out/MatMul", {"y", "m"}), node("Add", "/out/Add", {"o.bias", "z"}),
       node("BatchNormalization", "/norm/BatchNormalization", {"x", "w", "b", "mean", "v"})},
      {tensor("onnx::Conv_7", {1, 2, 1}, {1, 2}), tensor("b", {2}, {3, 4}, true),
       tensor("m", {2, 3}, {1, 2, 3, 4, 5, 6}), tensor("o.bias", {3}, {7, 8, 9}),
       tensor("mean", {2}, {5, 6}), tensor("v", {2}, {1, 1})});
}

std::string onnx_fault(const std::string& path) {
  try {
    const auto source = open_onnx_weights(path);
    for (const char* name : {"out.weight", "head.layer1.0.conv1.weight", "b", "norm.running_mean"})
      if (const auto shape = source->shape(name)) source->take(name, *shape);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(OnnxWeights, TensorsHaveTheNamesOfTheirModules) {
  const TestDir dir;
  const Weights weights(open_onnx_weights(dir.write("a.onnx", small_model())));
  const Weights conv = weights.scope("head.layer1.0.conv1");
  EXPECT_EQ(conv.f32("weight", {1, 2, 1}).f32()[1], 2);
  EXPECT_EQ(conv.f32("bias", {2}).f32()[1], 4);
  EXPECT_EQ(weights.f32("norm.running_mean", {2}).f32()[0], 5);
  EXPECT_EQ(weights.f32("out.bias", {3}).f32()[2], 9);
  EXPECT_EQ(weights.f32("o.bias", {3}).f32()[2], 9);
  EXPECT_FALSE(weights.has("norm.weight"));  // "w" is not an initialiser
  EXPECT_FALSE(weights.has("out"));
  EXPECT_NO_THROW(weights.finish());
}

TEST(OnnxWeights, MatricesAreAsTorchHasThem) {
  const TestDir dir;
  const Weights weights(open_onnx_weights(dir.write("a.onnx", small_model())));
  const Tensor matrix = weights.f32("out.weight", {3, 2});
  EXPECT_EQ(std::vector<float>(matrix.f32(), matrix.f32() + 6),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(OnnxWeights, AnIdentityIsASecondName) {
  const TestDir dir;
  const std::string twice = node("Identity", "", {"a"}) + bytes(2, "copy");
  const std::string path =
      dir.write("a.onnx", model({twice, node("Mul", "/norm/Mul", {"x", "copy"}),
                                 node("Gather", "/table/Gather", {"a", "ids"})},
                                {tensor("a", {2}, {5, 6})}));
  const Weights weights(open_onnx_weights(path));
  EXPECT_EQ(weights.f32("copy", {2}).f32()[1], 6);
  EXPECT_EQ(weights.f32("norm.scale", {2}).f32()[0], 5);
  EXPECT_EQ(weights.f32("table.weight", {2}).f32()[0], 5);
  EXPECT_NO_THROW(weights.finish());
}

/// Returns an AttributeProto of integers. With `packed`, one field contains all integers.
std::string integers(const std::string& name, const std::vector<uint64_t>& values, bool packed) {
  std::string list, out = bytes(1, name);
  for (const uint64_t value : values) {
    list += varint(value);
    if (!packed) out += number(8, value);
  }
  return bytes(5, packed ? out + bytes(8, list) : out);
}

std::string two_convolutions() {
  return model(
      {node("Conv", "/a/Conv", {"x", "w"}) + integers("dilations", {3}, false) +
           integers("pads", {1, 2}, true) + bytes(5, bytes(1, "group") + number(3, 4)),
       node("ConvTranspose", "/b/ConvTranspose", {"x", "w"}) + integers("strides", {8}, true)},
      {tensor("w", {1}, {1})});
}

TEST(OnnxWeights, ConvolutionsHaveTheirAttributes) {
  const TestDir dir;
  const auto all = read_onnx_convolutions(dir.write("a.onnx", two_convolutions()));
  ASSERT_EQ(all.size(), 2U);
  const OnnxConvolution& a = all.at("a");
  EXPECT_EQ(a.stride, 1);
  EXPECT_EQ(a.dilation, 3);
  EXPECT_EQ(a.groups, 4);
  EXPECT_EQ(a.before, 1);
  EXPECT_EQ(a.after, 2);
  EXPECT_EQ(all.at("b").stride, 8);
  const std::string large =
      model({node("Conv", "/a/Conv", {"x"}) + integers("strides", {uint64_t{1} << 30}, true)}, {});
  EXPECT_NE(onnx_fault(dir.write("b.onnx", large)).find("numbers up to"), std::string::npos);
  for_each_damage(two_convolutions(), 500, [&](const std::string& content) {
    try {
      read_onnx_convolutions(dir.write("c.onnx", content));
    } catch (const LoadError&) {
    }
  });
}

TEST(OnnxWeights, OtherNamesAreTried) {
  const TestDir dir;
  const std::string path = dir.write("a.onnx", small_model());
  const auto source = open_onnx_weights(path, [](const std::string& name) {
    return std::vector<std::string>{"nowhere", "prefix." + name, name + ".bias"};
  });
  EXPECT_TRUE(source->has("out"));
  EXPECT_FALSE(source->has("in"));
}

TEST(OnnxWeights, FaultsNameWhatIsWrong) {
  const TestDir dir;
  const auto fault = [&](const std::string& content) {
    return onnx_fault(dir.write("a.onnx", content));
  };
  const auto expect = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  EXPECT_EQ(fault(small_model()), "");
  expect(fault(""), "found no graph");
  expect(fault("hello"), "broken");
  expect(fault(model({}, {tensor("a", {3}, {1, 2})})), "tensor a: expected 12 bytes");
  expect(fault(model({}, {tensor("a", {1}, {1}), tensor("a", {1}, {1})})), "occurs twice");
  expect(fault(model({}, {tensor("a", {int64_t{1} << 39, int64_t{1} << 39}, {1})})), "too large");
  expect(fault(model({}, {tensor("a", {1}, {1}) + bytes(13, "")})), "in another file");
  expect(fault(small_model() + bytes(7, "")), "more than one graph");
}

TEST(OnnxWeights, DamageIsAFaultAndNothingElse) {
  const TestDir dir;
  const std::string path = dir.path("a.onnx");
  for_each_damage(small_model(), 2000, [&](const std::string& content) {
    dir.write("a.onnx", content);
    onnx_fault(path);
  });
}

}  // namespace
}  // namespace syrinx
