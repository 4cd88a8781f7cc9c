// Tests how networks get the tensors of a GGUF file.
#include "io/gguf_weights.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/safetensors.h"

namespace syrinx {
namespace {

const std::string kTypes = SYRINX_BINARY_DIR "/parity/gguf/types.gguf";

TEST(GgufWeights, UnpackAllTypes) {
  const auto file = std::make_shared<const GgufFile>(kTypes);
  const Safetensors golden(SYRINX_BINARY_DIR "/parity/gguf/types.safetensors");
  const auto source = gguf_weights(file, {{"linear", "Q8_0"}, {"other", "Q4_K"}});
  for (const auto& [ours, theirs] : {std::pair("linear", "Q8_0"), std::pair("other", "Q4_K")}) {
    const Tensor got = to_f32(source->take(ours, {2, 512}));
    const View want = golden.view(theirs);
    EXPECT_EQ(std::vector<float>(got.f32(), got.f32() + 1024),
              std::vector<float>(want.f32(), want.f32() + 1024));
  }
  EXPECT_EQ(source->stored_name("linear"), "Q8_0");
  EXPECT_FALSE(source->has("Q5_K"));
  const std::vector<std::string> names = source->names();
  EXPECT_TRUE(std::count(names.begin(), names.end(), "Q5_K"));  // reported as unused
  EXPECT_FALSE(std::count(names.begin(), names.end(), "Q8_0"));
}

TEST(GgufWeights, FirstSizesOfOneMayBeMissing) {
  const auto source = gguf_weights(std::make_shared<const GgufFile>(kTypes),
                                   {{"linear", "F32"}, {"packed", "Q8_0"}});
  for (const char* name : {"linear", "packed"}) {
    EXPECT_EQ(source->take(name, {1, 2, 512}).shape, (Shape{1, 2, 512}));
    EXPECT_TRUE(source->take(name, {2, 1, 512}).empty());
    EXPECT_TRUE(source->take(name, {1024}).empty());
  }
}

TEST(GgufWeights, HeadsInPairsHaveAnEvenNumberOfRows) {
  const auto source = gguf_weights(std::make_shared<const GgufFile>(kTypes),
                                   {{"paired", {"Q8_0", 1}}, {"odd", {"Q8_0", 2}}});
  EXPECT_EQ(source->take("paired", {2, 512}).dtype, DType::kF32);
  EXPECT_TRUE(source->take("odd", {2, 512}).empty());
}

TEST(GgufWeights, TensorsThatOtherCodeReadsAreNotUnused) {
  const auto source = gguf_weights(std::make_shared<const GgufFile>(kTypes), {}, {}, {"F32"});
  EXPECT_FALSE(std::ranges::count(source->names(), "F32"));
  EXPECT_TRUE(std::ranges::count(source->names(), "Q8_0"));
}

TEST(GgufWeights, TablesStayInMemory) {
  GgufNames names{{"table", "Q8_0"}};
  for (int i = 0; i < 9; ++i) names["layer." + std::to_string(i)] = "Q4_K";
  const auto source = gguf_weights(std::make_shared<const GgufFile>(kTypes), names, {"table"});
  const View table = source->take("table", {2, 512});
  EXPECT_EQ(table.dtype, DType::kF16);
  const uint16_t first = table.f16()[0];
  for (int i = 0; i < 9; ++i) source->take("layer." + std::to_string(i), {2, 512});
  EXPECT_EQ(source->take("table", {2, 512}).data, table.data);
  EXPECT_EQ(table.f16()[0], first);
}

}  // namespace
}  // namespace syrinx
