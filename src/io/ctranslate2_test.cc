#include "io/ctranslate2.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "io/expect_fault.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

void put_text(std::string& out, const std::string& text) {
  append_number(out, static_cast<uint16_t>(text.size() + 1));
  out += text + '\0';
}

void put_variable(std::string& out, const std::string& name, const std::vector<uint32_t>& sizes,
                  uint8_t type, const std::string& data) {
  put_text(out, name);
  append_number(out, static_cast<uint8_t>(sizes.size()));
  append_array(out, std::span(sizes));
  append_number(out, type);
  append_number(out, static_cast<uint32_t>(data.size()));
  out += data;
}

std::string header(uint32_t variables, uint32_t version = 6) {
  std::string out;
  append_number(out, version);
  put_text(out, "WhisperSpec");
  append_number(out, uint32_t{3});
  append_number(out, variables);
  return out;
}

/// Returns a file with a matrix, two numbers and an alias of the matrix.
std::string valid() {
  std::string out = header(3);
  put_variable(out, "a/weight", {2, 3}, 4, std::string(12, 'x'));
  put_variable(out, "heads", {}, 2, std::string("\x06\x00", 2));
  put_variable(out, "layer", {}, 2, "\xff\xff");
  append_number(out, uint32_t{1});
  put_text(out, "b/weight");
  put_text(out, "a/weight");
  return out;
}

std::string ct2_fault(const std::string& bytes) {
  const TestDir dir;
  try {
    const Ct2File file(dir.write("model.bin", bytes));
    file.number("heads");
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Ct2File, Reads) {
  const TestDir dir;
  const Ct2File file(dir.write("model.bin", valid()));
  EXPECT_EQ(file.spec(), "WhisperSpec");
  ASSERT_EQ(file.variables().size(), 3u);
  EXPECT_EQ(file.need("a/weight", 2).str(), "f16 [2, 3]");
  EXPECT_EQ(file.find("b/weight"), file.find("a/weight"));
  EXPECT_EQ(file.find("c"), nullptr);
  EXPECT_EQ(file.number("heads"), 6);
  EXPECT_EQ(file.number("layer"), -1);
}

TEST(Ct2File, FaultsAreNamed) {
  expect_fault(ct2_fault(header(0, 7)),
               "model.bin: expected a CTranslate2 model of version 4 to 6");
  expect_fault(ct2_fault(header(1u << 20)), "has 1048576 variables");
  expect_fault(ct2_fault(valid().substr(0, 60)), "model.bin");
  expect_fault(ct2_fault(valid() + "x"), "1 bytes too many");
  const auto one = [](const std::vector<uint32_t>& sizes, uint8_t type, size_t bytes) {
    std::string out = header(1);
    put_variable(out, "heads", sizes, type, std::string(bytes, 'x'));
    append_number(out, uint32_t{0});
    return ct2_fault(out);
  };
  expect_fault(one({2, 3}, 4, 11), "variable heads: is f16 [2, 3], but has 11 bytes");
  expect_fault(one({2, 3}, 9, 12), "has the unknown type 9");
  expect_fault(one({1u << 31, 1u << 31, 1u << 31}, 0, 4), "is too large");
  expect_fault(one(std::vector<uint32_t>(9, 1), 0, 4), "has 9 dimensions");
  expect_fault(one({2, 3}, 4, 12), "expected 0 dimensions, got f16 [2, 3]");
  expect_fault(one({}, 0, 4), "expected a whole number, got f32 []");
  std::string twice = header(2);
  for (int i = 0; i < 2; ++i) put_variable(twice, "heads", {}, 1, "x");
  expect_fault(ct2_fault(twice), "variable heads: occurs twice");
  std::string lost = header(0);
  append_number(lost, uint32_t{1});
  put_text(lost, "a"), put_text(lost, "b");
  expect_fault(ct2_fault(lost), "is an alias of b, which does not exist");
}

TEST(Ct2File, HostileFilesAreLoadErrors) {
  for_each_damage(valid(), 2000, [](const std::string& bytes) { ct2_fault(bytes); });
}

}  // namespace
}  // namespace syrinx
