// Tests how networks get the tensors of a GGUF file.
#include "io/gguf_weights.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/bytes.h"
#include "io/safetensors.h"
#include "io/test_dir.h"

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

TEST(GgufWeights, OuterSizesOfOneMayBeMissing) {
  const auto source = gguf_weights(std::make_shared<const GgufFile>(kTypes),
                                   {{"linear", "F32"}, {"packed", "Q8_0"}});
  for (const char* name : {"linear", "packed"}) {
    EXPECT_EQ(source->take(name, {1, 2, 512}).shape, (Shape{1, 2, 512}));
    EXPECT_EQ(source->take(name, {2, 512, 1}).shape, (Shape{2, 512, 1}));
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

TEST(GgufWeights, RowsOfPairedHeadsAreThoseOfTheWantedShape) {
  std::string bytes = "GGUF";  // a tensor "w" of f32, [1, 4, 2]: row r has the numbers 2 r, 2 r + 1
  append_number(bytes, uint32_t{3});
  append_number(bytes, uint64_t{1});
  append_number(bytes, uint64_t{0});
  append_number(bytes, uint64_t{1});
  bytes += "w";
  append_number(bytes, uint32_t{3});
  for (const uint64_t size : {2, 4, 1}) append_number(bytes, size);
  append_number(bytes, uint32_t{0});
  append_number(bytes, uint64_t{0});
  bytes.resize((bytes.size() + 31) / 32 * 32);
  for (int i = 0; i < 8; ++i) append_number(bytes, static_cast<float>(i));
  const TestDir dir;
  const auto file = std::make_shared<const GgufFile>(dir.write("m.gguf", bytes));
  const auto source = gguf_weights(file, {{"one", {"w", 1}}, {"two", {"w", 2}}});
  const Tensor one = to_f32(source->take("one", {4, 2}));
  EXPECT_EQ(std::vector<float>(one.f32(), one.f32() + 8),
            (std::vector<float>{0, 1, 4, 5, 2, 3, 6, 7}));
  const Tensor two = to_f32(source->take("two", {4, 2}));
  EXPECT_EQ(std::vector<float>(two.f32(), two.f32() + 8),
            (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
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
