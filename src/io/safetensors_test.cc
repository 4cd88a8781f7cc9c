#include "io/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "io/expect_fault.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string file_bytes(const std::string& header, size_t data) {
  const uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  bytes += header;
  for (size_t i = 0; i < data; ++i) bytes += static_cast<char>(i);
  return bytes;
}

/// Returns the error message of opening the path; an empty string if opening succeeds.
std::string fault_of(const std::string& path) {
  try {
    Safetensors file(path);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

std::string fault_of_header(const std::string& header, size_t data) {
  const TestDir dir;
  return fault_of(dir.write("m.safetensors", file_bytes(header, data)));
}

TEST(Safetensors, WritesAndReadsBack) {
  const TestDir dir;
  Tensor a({2, 3}, DType::kF32), b({5}, DType::kU8), c({2, 2}, DType::kBF16);
  for (int i = 0; i < 6; ++i) a.f32()[i] = static_cast<float>(i) / 4;
  static_cast<uint8_t*>(b.view().data)[4] = 9;
  c.view().bf16()[3] = 0x3f80;
  {
    SafetensorsWriter writer(dir.path("x.safetensors"));
    writer.add("b", b);
    writer.add("a \"quoted\"\n", a);
    writer.add("c", c);
    EXPECT_FALSE(is_file(dir.path("x.safetensors")));
    writer.finish({{"format", "pt"}});
  }
  const Safetensors file(dir.path("x.safetensors"));
  EXPECT_EQ(file.names().size(), 3u);
  EXPECT_EQ(file.view("a \"quoted\"\n").f32()[5], 1.25f);
  EXPECT_EQ(file.view("c").bf16()[3], 0x3f80);
  EXPECT_EQ(static_cast<uint8_t*>(file.view("b").data)[4], 9);
  EXPECT_EQ(file.bytes(), 24u + 5 + 8);
  EXPECT_EQ(SafetensorsFile(dir.path("x.safetensors")).metadata().at("format"), "pt");
  size_t files = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator(dir.path())) ++files;
  EXPECT_EQ(files, 1u) << "temporary files are left";
  EXPECT_THROW(file.view("d"), LoadError);
}

TEST(Safetensors, UnfinishedWriterLeavesNothing) {
  const TestDir dir;
  { SafetensorsWriter writer(dir.path("x.safetensors")); }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  EXPECT_THROW(SafetensorsWriter(dir.path("no/such/x.safetensors")), LoadError);
}

TEST(Safetensors, UnalignedDataIsCopied) {
  const TestDir dir;
  const auto path = dir.write("m.safetensors",
                              file_bytes(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
                                         9));
  const Safetensors file(path);
  const View b = file.view("b");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(b.data) % 4, 0u);
  EXPECT_EQ(std::memcmp(b.data, "\1\2\3\4\5\6\7\10", 8), 0);
  EXPECT_EQ(file.view("b").data, b.data);
}

TEST(Safetensors, UnknownTypesFailOnlyWhenRead) {
  const TestDir dir;
  const auto path =
      dir.write("m.safetensors",
                file_bytes(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},)"
                           R"("b":{"dtype":"NEW","shape":[1,1,1,1,1,1,1],"data_offsets":[8,11]},)"
                           R"("c":{"dtype":"U8","shape":[],"data_offsets":[11,12]}})",
                           12));
  const Safetensors file(path);
  EXPECT_EQ(file.view("c").count(), 1);
  EXPECT_THROW(file.view("a"), LoadError);
  EXPECT_THROW(file.view("b"), LoadError);
}

TEST(Safetensors, FaultsNameTheTensor) {
  const auto entry = [](const char* shape, const char* offsets) {
    return std::string(R"({"w":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  EXPECT_EQ(fault_of_header(entry("[2]", "[0,8]"), 8), "");
  expect_fault(fault_of_header(entry("[3]", "[0,8]"), 8),
               "m.safetensors: tensor w: expected 12 bytes for f32 [3], got 8");
  expect_fault(fault_of_header(entry("[2]", "[0,8]"), 7), "got [0, 8]: the file is cut short");
  expect_fault(fault_of_header(entry("[2]", "[8,0]"), 8), "expected a range");
  expect_fault(fault_of_header(entry("[2]", "[-1,7]"), 8), "data_offsets");
  expect_fault(fault_of_header(entry("[-2]", "[0,8]"), 8), "numbers of 0 or more");
  expect_fault(fault_of_header(entry("[4611686018427387905,4]", "[0,8]"), 8), "too large");
  expect_fault(fault_of_header(entry("[18446744073709551615]", "[0,8]"), 8), "shape");
  expect_fault(fault_of_header(R"({"w":{"dtype":"F32","shape":[0]}})", 0), "data_offsets");
  expect_fault(fault_of_header(R"({"w":{"dtype":"F32","dtype":"F32"}})", 0), "given twice");
  expect_fault(fault_of_header(R"({"w":7})", 0), "expected an object");
  expect_fault(fault_of_header("[1]", 0), "expected an object");
  expect_fault(fault_of_header(std::string(200, '['), 0), "invalid JSON");
  const std::string one = R"("w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]})";
  expect_fault(fault_of_header("{" + one + "," + one + "}", 2), "twice");
  expect_fault(
      fault_of_header(
          "{" + one + R"(,"v":{"dtype":"U8","shape":[2],)" + R"("data_offsets":[1,3]}})", 3),
      "tensor v: its data overlaps that of w");
}

TEST(Safetensors, FilesThatAreNone) {
  const TestDir dir;
  expect_fault(fault_of(dir.path("none.safetensors")), "cannot open");
  expect_fault(fault_of(dir.path()), "expected model.safetensors");
  expect_fault(fault_of(dir.write("a.safetensors", "")), "got 0 bytes");
  expect_fault(fault_of(dir.write("b.safetensors", std::string(8, '\xff'))), "header");
  expect_fault(fault_of("/dev/zero"), "regular file");
}

class Sharded : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* shard : {"one", "two"}) {
      Tensor t({2}, DType::kF32);
      SafetensorsWriter writer(dir_.path(std::string(shard) + ".safetensors"));
      writer.add(std::string("w.") + shard, t);
      writer.finish();
    }
  }
  std::string fault(const std::string& map) {
    return fault_of(dir_.write("model.safetensors.index.json", R"({"weight_map":)" + map + "}"));
  }
  TestDir dir_;
};

TEST_F(Sharded, ReadsAllFiles) {
  EXPECT_EQ(fault(R"({"w.one":"one.safetensors","w.two":"two.safetensors"})"), "");
  const Safetensors all(dir_.path());
  EXPECT_EQ(all.view("w.two").count(), 2);
  EXPECT_EQ(all.file_of("w.one"), dir_.path("one.safetensors"));
  EXPECT_EQ(all.bytes(), 16u);
}

TEST_F(Sharded, ContradictionsAreNamed) {
  expect_fault(fault(R"({"w.one":"two.safetensors"})"), "weight_map.w.one: expected it in two");
  expect_fault(fault(R"({"w.one":"one.safetensors","w.one":"two.safetensors"})"), "is given as");
  expect_fault(fault(R"({"w.one":"../one.safetensors"})"), "same directory");
  expect_fault(fault(R"({"w.one":"/etc/x.safetensors"})"), "same directory");
  expect_fault(fault(R"({"w.one":"..safetensors"})"), "same directory");
  expect_fault(fault(R"({"w.one":"gone.safetensors"})"), "gone.safetensors is missing");
  expect_fault(fault(R"({"w.one":3})"), "weight_map.w.one");
  expect_fault(fault("3"), "weight_map");
  std::filesystem::copy(dir_.path("one.safetensors"), dir_.path("copy.safetensors"));
  expect_fault(fault(R"({"w.one":"one.safetensors","w.x":"copy.safetensors"})"), "is in both");
}

/// Opens the file and reads everything; returns whether the file was accepted.
bool survives(const std::string& path) {
  try {
    const Safetensors file(path);
    uint64_t sum = 0;
    for (const auto& name : file.names()) {
      const View view = file.view(name);
      for (size_t i = 0; i < view.bytes(); ++i) sum += static_cast<uint8_t*>(view.data)[i];
    }
    return sum + 1 > 0;
  } catch (const LoadError&) {
    return false;
  }
}

TEST(SafetensorsDamage, IsRefusedOrRead) {
  const TestDir dir;
  Tensor a({2, 3}, DType::kF32), b({5}, DType::kU8);
  SafetensorsWriter writer(dir.path("x.safetensors"));
  writer.add("layers.0.weight", a);
  writer.add("b", b);
  writer.finish({{"k", "v"}});
  const std::string valid = slurp(dir.path("x.safetensors"));
  ASSERT_TRUE(survives(dir.path("x.safetensors")));
  int refused = 0;
  for_each_damage(valid, 4000, [&](const std::string& bytes) {
    refused += !survives(dir.write("m.safetensors", bytes));
  });
  EXPECT_GE(refused, static_cast<int>(valid.size()));  // every truncation is refused
}

TEST(SafetensorsDamage, IndexIsRefusedOrRead) {
  const TestDir dir;
  Tensor a({1}, DType::kF32);
  SafetensorsWriter writer(dir.path("a.safetensors"));
  writer.add("w", a);
  writer.finish();
  const std::string valid = R"({"metadata":{"total_size":4},"weight_map":{"w":"a.safetensors"}})";
  for_each_damage(valid, 2000, [&](const std::string& bytes) {
    survives(dir.write("model.safetensors.index.json", bytes));
  });
}

TEST(Safetensors, LimitsMetExactly) {
  const std::string header = R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  EXPECT_EQ(fault_of_header(header, 2), "");
  expect_fault(fault_of_header(header, 1), "data_offsets");
  // The header may extend to the end of the file, but not beyond.
  const TestDir dir;
  std::string bytes = file_bytes("{}", 0);
  EXPECT_EQ(fault_of(dir.write("whole.safetensors", bytes)), "");
  for (uint64_t more = 1; more <= 9; ++more) {
    const uint64_t size = 2 + more;
    std::memcpy(bytes.data(), &size, 8);
    expect_fault(fault_of(dir.write("long.safetensors", bytes)), "expected at most 2 bytes");
  }
  // The header must not exceed the format's limit, even in a file that is long enough (here a
  // sparse file).
  const uint64_t most = SafetensorsFile::kMaxHeader, beyond = most + 1;
  std::memcpy(bytes.data(), &beyond, 8);
  const std::string vast = dir.write("vast.safetensors", bytes);
  std::filesystem::resize_file(vast, 8 + beyond);
  expect_fault(fault_of(vast), concat("expected at most ", most, " bytes"));
  // Data with fewer or more bytes than the shape needs is a fault.
  expect_fault(fault_of_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,3]}})", 3),
               "expected 2 bytes");
  expect_fault(fault_of_header(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,1]}})", 3),
               "expected 2 bytes");
  const auto sizes = [](int count) {
    std::string shape = "1";
    for (int i = 1; i < count; ++i) shape += ",1";
    return "{\"a\":{\"dtype\":\"U8\",\"shape\":[" + shape + "],\"data_offsets\":[0,1]}}";
  };
  EXPECT_EQ(fault_of_header(sizes(16), 1), "");
  expect_fault(fault_of_header(sizes(17), 1), "more than 16 dimensions");
}

/// Larger types come first and the data starts at a multiple of eight, so that every tensor is
/// aligned.
TEST(Safetensors, WritesAlignedData) {
  const TestDir dir;
  const Tensor small({3}, DType::kU8), wide({2}, DType::kF32);
  {
    SafetensorsWriter writer(dir.path("x.safetensors"));
    writer.add("small", small);
    writer.add("wide", wide);
    writer.finish({{"note", "of odd length"}});
  }
  const Safetensors file(dir.path("x.safetensors"));
  EXPECT_EQ(file.names(), (std::vector<std::string>{"wide", "small"}));
  EXPECT_EQ(file.find("wide")->begin, 0u);
  uint64_t header = 1;
  std::memcpy(&header, slurp(dir.path("x.safetensors")).data(), 8);
  EXPECT_EQ(header % 8, 0u);
}

TEST(Safetensors, AFileNameEndsWhereItSeemsTo) {
  const TestDir dir;
  const std::string index = std::string("{\"weight_map\":{\"a\":\"x\\u0000.safetensors\"}}");
  expect_fault(fault_of(dir.write("model.safetensors.index.json", index)), "in the same directory");
}

}  // namespace
}  // namespace syrinx
