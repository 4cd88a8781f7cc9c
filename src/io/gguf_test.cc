// Compares GGUF files with the Python package gguf, and tests broken files.
#include "io/gguf.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/error.h"
#include "io/expect_fault.h"
#include "io/safetensors.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string gguf_golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/gguf/" + name;
}

void put_gguf_text(std::string& out, const std::string& text) {
  append_number(out, uint64_t{text.size()});
  out += text;
}

std::string gguf_header(uint64_t tensors, uint64_t values, uint32_t version = 3) {
  std::string out = "GGUF";
  append_number(out, version);
  append_number(out, tensors);
  append_number(out, values);
  return out;
}

void put_tensor(std::string& out, const std::string& name, const std::vector<uint64_t>& sizes,
                uint32_t type, uint64_t offset) {
  put_gguf_text(out, name);
  append_number(out, static_cast<uint32_t>(sizes.size()));
  append_array(out, std::span(sizes));
  append_number(out, type);
  append_number(out, offset);
}

/// Returns a file with a text, a number, a list and a matrix of 2 x 32 in Q8_0.
std::string small_gguf() {
  std::string out = gguf_header(1, 3);
  put_gguf_text(out, "general.architecture");
  append_number(out, uint32_t{8});
  put_gguf_text(out, "llama");
  put_gguf_text(out, "rate");
  append_number(out, uint32_t{6});
  append_number(out, 0.5f);
  put_gguf_text(out, "types");
  append_number(out, uint32_t{9});
  append_number(out, uint32_t{5});
  append_number(out, uint64_t{2});
  for (const int32_t number : {1, -3}) append_number(out, number);
  put_tensor(out, "w", {32, 2}, 8, 0);
  out.resize((out.size() + 31) / 32 * 32);
  return out + std::string(68, '\1');
}

std::string gguf_fault(const std::string& bytes) {
  const TestDir dir;
  try {
    const GgufFile file(dir.write("m.gguf", bytes));
    for (const GgufTensor& tensor : file.tensors()) {
      if (!tensor.type || !tensor.type->unpack || tensor.data.empty()) continue;
      std::vector<float> block(static_cast<size_t>(tensor.type->block));
      tensor.type->unpack(reinterpret_cast<const uint8_t*>(tensor.data.data()), block.data());
    }
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(Gguf, EveryTypeIsThatOfThePackage) {
  const GgufFile file(gguf_golden("types.gguf"));
  const Safetensors golden(gguf_golden("types.safetensors"));
  size_t packed = 0;
  for (const std::string& name : golden.names()) {
    const GgufTensor& tensor = file.need(name);
    ASSERT_NE(tensor.type, nullptr) << name;
    EXPECT_EQ(tensor.type->name, name);
    ASSERT_EQ(tensor.sizes, (std::vector<int64_t>{2, 512})) << name;
    if (!tensor.type->unpack) continue;
    ++packed;
    const View want = golden.view(name);
    std::vector<float> got(1024);
    const auto* from = reinterpret_cast<const uint8_t*>(tensor.data.data());
    for (int64_t at = 0; at < 1024; at += tensor.type->block, from += tensor.type->block_bytes)
      tensor.type->unpack(from, got.data() + at);
    for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], want.f32()[i]) << name << " " << i;
  }
  EXPECT_EQ(packed, 12u);
}

TEST(Gguf, Reads) {
  const TestDir dir;
  const GgufFile file(dir.write("m.gguf", small_gguf()));
  EXPECT_EQ(file.text("general.architecture"), "llama");
  EXPECT_EQ(file.text("general.name", "none"), "none");
  EXPECT_EQ(file.number("rate"), 0.5);
  EXPECT_EQ(file.list("types").numbers, (std::vector<double>{1, -3}));
  EXPECT_EQ(file.need("w").str(), "Q8_0 [2, 32]");
  EXPECT_EQ(file.need("w").data.size(), 68u);
  const auto fault = [&](const auto& ask) {
    try {
      ask();
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  expect_fault(fault([&] { file.need("v"); }), "m.gguf: tensor v: is missing");
  expect_fault(fault([&] { file.integer("rate"); }), "m.gguf: rate: expected a whole number");
  expect_fault(fault([&] { file.text("types"); }), "m.gguf: types: expected a text");
}

TEST(Gguf, FaultsAreNamed) {
  expect_fault(gguf_fault("GGML"), "m.gguf: is not a GGUF file");
  expect_fault(gguf_fault(gguf_header(0, 0, 1)), "expected GGUF 2 or 3, got 1");
  expect_fault(gguf_fault(gguf_header(1u << 30, 0)), "m.gguf");
  expect_fault(gguf_fault(small_gguf().substr(0, small_gguf().size() - 1)),
               "tensor w: is Q8_0 [2, 32] from byte 0 of the data on, which has 67");
  const auto with = [](const std::vector<uint64_t>& sizes, uint32_t type, uint64_t offset = 0) {
    std::string out = gguf_header(1, 0);
    put_tensor(out, "w", sizes, type, offset);
    out.resize((out.size() + 31) / 32 * 32);
    return gguf_fault(out + std::string(64, '\1'));
  };
  EXPECT_EQ(with({16}, 0), "");
  EXPECT_EQ(with({16}, 99), "");  // an unknown type is a fault only when the tensor is read
  expect_fault(with({33}, 8), "expected rows of whole blocks of 32");
  expect_fault(with({16}, 0, 1), "from byte 1 of the data on, which has 64");
  expect_fault(with({16}, 0, ~0ull), "of the data on");
  expect_fault(with({1ull << 40, 1ull << 40}, 0), "tensor w: is too large");
  expect_fault(with({1ull << 39, 8}, 0), "of the data on");
  expect_fault(with({}, 0), "has 0 dimensions");
  std::string twice = gguf_header(0, 2);
  for (int i = 0; i < 2; ++i) {
    put_gguf_text(twice, "key");
    append_number(twice, uint32_t{7});
    twice += '\1';
  }
  expect_fault(gguf_fault(twice), "m.gguf: key: occurs twice");
}

TEST(Gguf, HostileFilesAreLoadErrors) {
  for_each_damage(small_gguf(), 700, [](const std::string& bytes) { gguf_fault(bytes); });
}

}  // namespace
}  // namespace syrinx
