#include "io/torch_pickle.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "io/expect_fault.h"
#include "io/pickle.h"
#include "io/test_dir.h"
#include "io/weights.h"

namespace syrinx {
namespace {

std::string golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/torch_pickle/" + name;
}

std::string pickle_fault(const std::string& path) {
  try {
    const TorchPickle file(path);
    for (const TorchTensor& tensor : file.tensors())
      if (tensor.dtype && tensor.sizes.size() <= Shape::kMaxDims) file.view(tensor);
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

/// Returns a zip archive of uncompressed entries. With `wide`, sizes and offsets have 64 bits, as
/// in files above 4 GB.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries,
                   uint16_t method = 0, bool wide = false) {
  std::string bytes, directory;
  const auto put = [](std::string& to, uint64_t value, int size) {
    for (int i = 0; i < size; ++i) to += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  };
  const uint64_t unknown = 0xffffffff;
  for (const auto& [name, data] : entries) {
    const size_t local = bytes.size();
    put(bytes, 0x04034b50, 4);
    put(bytes, 0, 22);
    put(bytes, name.size(), 2), put(bytes, 0, 2);
    bytes += name + data;
    put(directory, 0x02014b50, 4);
    put(directory, 0, 6), put(directory, method, 2), put(directory, 0, 8);
    put(directory, wide ? unknown : data.size(), 4),
        put(directory, wide ? unknown : data.size(), 4);
    put(directory, name.size(), 2), put(directory, wide ? 33 : 0, 2), put(directory, 0, 10);
    put(directory, wide ? unknown : local, 4);
    directory += name;
    if (!wide) continue;
    put(directory, 9, 2), put(directory, 1, 2), put(directory, 0, 1);  // a foreign extra field
    put(directory, 1, 2), put(directory, 24, 2);
    put(directory, data.size(), 8), put(directory, data.size(), 8), put(directory, local, 8);
  }
  const size_t begin = bytes.size();
  bytes += directory;
  if (wide) {
    const size_t end = bytes.size();
    put(bytes, 0x06064b50, 4), put(bytes, 44, 8), put(bytes, 0, 12);
    put(bytes, entries.size(), 8), put(bytes, entries.size(), 8);
    put(bytes, directory.size(), 8), put(bytes, begin, 8);
    put(bytes, 0x07064b50, 4), put(bytes, 0, 4), put(bytes, end, 8), put(bytes, 1, 4);
  }
  put(bytes, 0x06054b50, 4), put(bytes, 0, 4);
  put(bytes, wide ? 0xffff : entries.size(), 2), put(bytes, wide ? 0xffff : entries.size(), 2);
  put(bytes, wide ? unknown : directory.size(), 4), put(bytes, wide ? unknown : begin, 4);
  put(bytes, 0, 2);
  return bytes;
}

std::string fault_of_pickle(const std::string& pickle, const std::string& data = "01234567") {
  const TestDir dir;
  return pickle_fault(dir.write("x.pt", zip_of({{"a/data.pkl", pickle}, {"a/data/0", data}})));
}

std::string text(const std::string& value) {
  return "X" + std::string{static_cast<char>(value.size()), 0, 0, 0} + value;
}
std::string number(int32_t value) {
  return "J" + std::string(reinterpret_cast<const char*>(&value), 4);
}
std::string tuple(const std::vector<int32_t>& values) {
  std::string out = "(";
  for (const int32_t value : values) out += number(value);
  return out + "t";
}
/// Returns {"w": tensor} with a storage of `elements` floats, although the file has only two.
std::string tensor_pickle(int32_t elements, int32_t offset, const std::vector<int32_t>& sizes,
                          const std::vector<int32_t>& strides, const std::string& key = "0",
                          const std::string& type = "FloatStorage") {
  return "\x80\x02}" + text("w") + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
         "ctorch\n" + type + "\n" + text(key) + text("cpu") + number(elements) + "tQ" +
         number(offset) + tuple(sizes) + tuple(strides) + "tRs.";
}

TEST(TorchPickle, ReadsWhatTorchWrites) {
  const TorchPickle file(golden("nested.pt"));
  const auto get = [&](const std::string& name) {
    const TorchTensor* tensor = file.find(name);
    EXPECT_NE(tensor, nullptr) << name;
    return file.view(*tensor);
  };
  EXPECT_EQ(get("state.plain").shape, (Shape{2, 3}));
  EXPECT_EQ(get("state.plain").f32()[5], 1.25f);
  const View transposed = get("state.transposed");
  EXPECT_EQ(transposed.shape, (Shape{6, 4}));
  EXPECT_EQ(transposed.f32()[1], 6.f);
  EXPECT_EQ(transposed.f32()[23], 23.f);
  const View part = get("state.part");
  EXPECT_EQ(part.f32()[0], 8.f);
  EXPECT_EQ(part.f32()[5], 16.f);
  EXPECT_EQ(get("state.half").f16()[0], 0x3800);
  EXPECT_EQ(get("state.brain").bf16()[1], 0xc040);
  EXPECT_EQ(static_cast<int64_t*>(get("state.ids").data)[1], -8);
  EXPECT_EQ(get("state.scalar").shape.dims(), 0);
  EXPECT_EQ(get("state.scalar").f32()[0], 2.5f);
  EXPECT_EQ(get("state.none").count(), 0);
  EXPECT_EQ(get("state.parameter").f32()[0], 9.f);
  EXPECT_EQ(get("list.0").f32()[1], 1.f);
  EXPECT_EQ(get("speakers.5.embedding").f32()[2], 0.25f);
  EXPECT_EQ(file.find("epoch"), nullptr);
  EXPECT_EQ(file.find("state.flags")->str(), "BoolStorage [2]");
  EXPECT_THROW(file.view(*file.find("state.flags")), LoadError);
  EXPECT_EQ(file.tensors().size(), 12u);
}

TEST(TorchPickle, ReadsStateDictsAndOtherProtocols) {
  EXPECT_NE(TorchPickle(golden("state_dict.bin")).find("weight"), nullptr);
  EXPECT_EQ(TorchPickle(golden("protocol4.pt")).tensors().size(), 1u);
}

TEST(TorchPickle, RunsNothing) {
  expect_fault(pickle_fault(golden("function.pt")), "torch.nn.functional relu");
  expect_fault(fault_of_pickle("\x80\x02"
                               "cposix\nsystem\n" +
                               text("true") + "\x85R."),
               "posix system");
  expect_fault(fault_of_pickle("\x80\x04" + text("os") + text("system") + "\x93."), "os system");
  expect_fault(fault_of_pickle("\x80\x02(iposix\nsystem\n."), "opcode 105");
  expect_fault(fault_of_pickle("\x80\x02"
                               "ctorch.storage\n_load_from_bytes\n."),
               "_load_from_bytes");
}

/// Reads an object with arguments, items and attributes; one attribute is itself an object.
TEST(TorchPickle, ReadsNamedClassesAsTheirAttributes) {
  std::string tensor = tensor_pickle(2, 0, {2}, {1});
  tensor = tensor.substr(tensor.find("ctorch"), tensor.size() - tensor.find("ctorch") - 2);
  const std::string inner =
      "cmade.by\nCache\n)\x81}(" + text("seen") + number(7) + text("keys") + "](" + tensor + "eub";
  const std::string outer = "cmade.by\nOutput\n(" + tensor + "NtR(" + text("row") + "Nu}(" +
                            text("row") + tensor + text("cache") + inner + "ub";
  const TestDir dir;
  const std::string pickle = "\x80\x02}" + text("lm") + outer + "s.";
  const std::string path =
      dir.write("x.pt", zip_of({{"a/data.pkl", pickle}, {"a/data/0", "01234567"}}));
  constexpr std::string_view kBoth[] = {"made.by Output", "made.by Cache"};
  const TorchPickle file(path, kBoth);
  ASSERT_EQ(file.tensors().size(), 2u);
  EXPECT_EQ(file.tensors()[0].name, "lm.row");
  EXPECT_EQ(file.tensors()[1].name, "lm.cache.keys.0");
  EXPECT_EQ(file.numbers().at("lm.cache.seen"), 7);
  expect_fault(pickle_fault(path), "made.by Output");
  EXPECT_THROW(TorchPickle(path, std::span(kBoth).first(1)), LoadError);
}

TEST(TorchPickle, ChecksPlacesAndSizes) {
  EXPECT_EQ(fault_of_pickle(tensor_pickle(2, 0, {2}, {1})), "");
  EXPECT_EQ(fault_of_pickle(tensor_pickle(2, 1, {1, 1}, {9, 9})), "");
  EXPECT_EQ(fault_of_pickle(tensor_pickle(0, 77, {0}, {1})), "");
  expect_fault(fault_of_pickle(tensor_pickle(3, 0, {3}, {1})), "expected 3 elements");
  expect_fault(fault_of_pickle(tensor_pickle(2, 1, {2}, {1})), "at most 2 elements");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {2})), "at most 2 elements");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {1 << 30, 1 << 30}, {0, 0})), "at most 2");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {1 << 30, 1 << 30, 1 << 30}, {0, 0, 0})),
               "too large");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {})), "1 sizes, but 0 strides");
  expect_fault(fault_of_pickle(tensor_pickle(2, -1, {1}, {1})), "0 or more");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {1}, "9")), "data/9");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {1}, "../0")), "data/../0");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {1}, "0", "FooStorage")), "FooStorage");
  expect_fault(fault_of_pickle(tensor_pickle(2, 0, {2}, {1}), "0123"), "got 4 bytes");
}

TEST(TorchPickle, BoundsGraphs) {
  // Nested dicts: each level contains the next level twice, so 2^31 tensors would be visited.
  std::string laughs = "\x80\x02]q";
  laughs += '\0';
  for (int level = 1; level < 32; ++level) {
    laughs += "](h" + std::string(1, static_cast<char>(level - 1)) + "h" +
              std::string(1, static_cast<char>(level - 1)) + "eq" +
              std::string(1, static_cast<char>(level));
  }
  expect_fault(fault_of_pickle(laughs + "."), "too often or too deep");
  std::string ring = "\x80\x02]q";  // a list that contains itself
  ring += '\0';
  ring += "h";
  ring += '\0';
  expect_fault(fault_of_pickle(ring + "a."), "too often or too deep");
  expect_fault(fault_of_pickle("\x80\x02" + std::string(3u << 20, ')')), "too many values");
  expect_fault(fault_of_pickle("\x80\x02"
                               "0."),
               "opcode 48");
  expect_fault(fault_of_pickle("\x80\x02t."), "mark");
  expect_fault(fault_of_pickle("\x80\x02."), "empty stack");
  expect_fault(fault_of_pickle("\x80\x02h\x05."), "never set");
  expect_fault(fault_of_pickle(std::string("\x80\x02X\xff\xff\xff\xff", 7)), "a text of");
}

TEST(TorchPickle, ChecksTheArchive) {
  const TestDir dir;
  const std::string pickle = tensor_pickle(2, 0, {2}, {1});
  expect_fault(pickle_fault(golden("legacy.pt")), "PyTorch 1.6");
  expect_fault(pickle_fault(dir.write("a.pt", "")), "zip archive");
  expect_fault(pickle_fault(dir.path("gone.pt")), "cannot open");
  expect_fault(pickle_fault(dir.write("b.pt", zip_of({{"a/x", pickle}}))), "no data.pkl");
  expect_fault(
      pickle_fault(dir.write("c.pt", zip_of({{"a/data.pkl", pickle}, {"b/data.pkl", pickle}}))),
      "more than one");
  expect_fault(
      pickle_fault(dir.write("d.pt", zip_of({{"a/data.pkl", pickle}, {"a/data.pkl", pickle}}))),
      "twice");
  expect_fault(pickle_fault(dir.write("e.pt", zip_of({{"a/data.pkl", pickle}}, 8))), "compressed");
  expect_fault(
      pickle_fault(dir.write("f.pt", zip_of({{"a/data.pkl", pickle}, {"a/byteorder", "big"}}))),
      "byteorder");
}

TEST(TorchPickle, SurvivesDamage) {
  const TestDir dir;
  const std::string valid =
      zip_of({{"a/data.pkl", tensor_pickle(2, 0, {2, 1}, {1, 1})}, {"a/data/0", "01234567"}});
  int fine = 0;
  for_each_damage(valid, 2000, [&](const std::string& bytes) {
    fine += pickle_fault(dir.write("x.pt", bytes)).empty();
  });
  EXPECT_LT(fine, 1500);
  const std::string wide = zip_of(
      {{"a/data.pkl", tensor_pickle(2, 0, {2, 1}, {1, 1})}, {"a/data/0", "01234567"}}, 0, true);
  EXPECT_EQ(pickle_fault(dir.write("x.pt", wide)), "");
  for_each_damage(wide, 1000,
                  [&](const std::string& bytes) { pickle_fault(dir.write("x.pt", bytes)); });
  const std::string torch_made = slurp(golden("protocol4.pt"));
  for (size_t at = 0; at < torch_made.size(); at += 3) {
    std::string bytes = torch_made;
    bytes[at] = static_cast<char>(bytes[at] ^ 0x55);
    pickle_fault(dir.write("x.pt", bytes));
  }
}

TEST(TorchPickle, IsASourceOfWeights) {
  TestDir dir;
  dir.write("pytorch_model.bin", slurp(golden("state_dict.bin")));
  for (const std::string& path : {dir.path(), dir.path("pytorch_model.bin")}) {
    const Weights weights(open_weights(path));
    EXPECT_EQ(weights.take("weight", {1, 2}).dtype, DType::kF32);
    EXPECT_EQ(weights.report().unused, std::vector<std::string>{"bias"});
  }
  const Weights weights(open_weights(dir.path()));
  weights.take("weight", {2, 2});
  weights.take("gone", {2});
  try {
    weights.finish();
    FAIL();
  } catch (const LoadError& error) {
    expect_fault(error.what(), "tensor weight: expected [2, 2], got f32 [1, 2]");
    expect_fault(error.what(), "missing tensors (1):\n  gone");
  }
}

/// Opcodes: \x80 protocol, K a byte, N None, ( a mark, } a dict, u its items, 0x8a an integer, .
/// the end.
TEST(TorchPickle, OpcodesTakeWhatIsTheirs) {
  using namespace std::string_literals;
  expect_fault(fault_of_pickle("\x80\x06N."s), "protocol 6");
  expect_fault(fault_of_pickle("\x80\x02}(K\x01u."s), "a key without a value");
  expect_fault(fault_of_pickle("\x80\x02\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01."s),
               "an integer of 9 bytes");
  expect_fault(fault_of_pickle("\x80\x02N(\x85."s), "empty stack");
  for (const char* cut : {"J", "K", "M", "X", "G", "r"}) {
    expect_fault(fault_of_pickle("\x80\x02"s + cut), "ends in the middle");
    expect_fault(fault_of_pickle("\x80\x02"s + cut + "\x01"), "ends in the middle");
  }
}

/// 0x8a: a length, then as many bytes in two's complement, the lowest first.
TEST(TorchPickle, LongIntegersKeepTheirSign) {
  using namespace std::string_literals;
  const auto value_of = [](const std::string& integer) {
    const Pickle pickle = read_pickle(
        "\x80\x02\x8a"s + integer + ".", "x.pkl", [](std::string_view) { return false; }, "");
    return pickle.values[pickle.root].number;
  };
  EXPECT_EQ(value_of("\x00"s), 0);
  EXPECT_EQ(value_of("\x01\x7f"s), 127);
  EXPECT_EQ(value_of("\x01\xff"s), -1);
  EXPECT_EQ(value_of("\x02\xff\x00"s), 255);
  EXPECT_EQ(value_of("\x02\x00\xff"s), -256);
  EXPECT_EQ(value_of("\x07\xfe\xff\xff\xff\xff\xff\xff"s), -2);
  EXPECT_EQ(value_of("\x08\xfe\xff\xff\xff\xff\xff\xff\xff"s), -2);
}

}  // namespace
}  // namespace syrinx
