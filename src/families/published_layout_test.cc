#include "families/published_layout.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "io/test_dir.h"
#include "io/weights.h"

namespace syrinx {
namespace {

/// Expands "a.{0..2}.b" to "a.0.b", "a.1.b", "a.2.b".
std::vector<std::string> expanded(const std::string& pattern) {
  const size_t open = pattern.find('{');
  if (open == pattern.npos) return {pattern};
  const size_t dots = pattern.find("..", open), close = pattern.find('}');
  const int first = std::stoi(pattern.substr(open + 1)), last = std::stoi(pattern.substr(dots + 2));
  std::vector<std::string> names;
  for (int i = first; i <= last; ++i) {
    const std::string one = pattern.substr(0, open) + std::to_string(i) + pattern.substr(close + 1);
    for (std::string& name : expanded(one)) names.push_back(std::move(name));
  }
  return names;
}

std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
  return out;
}

/// Writes the tensors in the order of the safetensors library: wide types first, then by name.
void write_safetensors(const PublishedFile& file, const std::string& path) {
  std::map<std::pair<int64_t, std::string>, const PublishedTensor*> ordered;
  for (const auto& [name, tensor] : file.tensors) ordered[{-tensor.width(), name}] = &tensor;
  nlohmann::json header;
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  uint64_t end = 0;
  for (const auto& [key, tensor] : ordered) {
    const uint64_t begin = end;
    end += static_cast<uint64_t>(tensor->count() * tensor->width());
    header[key.second] = {
        {"dtype", tensor->type}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::ofstream(path, std::ios::binary) << little(text.size(), 8) << text;
  std::filesystem::resize_file(path, 8 + text.size() + end);
}

/// A zip archive with uncompressed entries, laid out as torch.save() does: data at multiples of 64,
/// 64-bit numbers if necessary. Has no checksums.
class SparseZip {
 public:
  explicit SparseZip(const std::string& path) : out_(path, std::ios::binary) {}
  ~SparseZip() {
    const uint64_t begin = at();
    out_ << directory_;
    const uint64_t end = at(), size = directory_.size();
    const bool wide = begin >= kWide;
    if (wide) {
      out_ << little(0x06064b50, 4) << little(44, 8) << little(0, 12) << little(count_, 8)
           << little(count_, 8) << little(size, 8) << little(begin, 8);
      out_ << little(0x07064b50, 4) << little(0, 4) << little(end, 8) << little(1, 4);
    }
    out_ << little(0x06054b50, 4) << little(0, 4) << little(count_, 2) << little(count_, 2)
         << little(size, 4) << little(wide ? kWide : begin, 4) << little(0, 2);
  }
  SparseZip(const SparseZip&) = delete;
  SparseZip& operator=(const SparseZip&) = delete;

  void add(const std::string& name, const std::string& bytes) {
    head(name, bytes.size());
    out_ << bytes;
  }
  void add_hole(const std::string& name, uint64_t bytes) {
    head(name, bytes);
    out_.seekp(static_cast<std::streamoff>(bytes), std::ios::cur);
  }

 private:
  static constexpr uint64_t kWide = 0xffffffff;
  uint64_t at() { return static_cast<uint64_t>(out_.tellp()); }
  void head(const std::string& name, uint64_t bytes) {
    const uint64_t local = at();
    const std::string size = little(std::min(bytes, kWide), 4);
    const uint64_t pad = 63 - (local + 30 + name.size() + 4 + 63) % 64;
    out_ << little(0x04034b50, 4) << little(0, 14) << size << size << little(name.size(), 2)
         << little(4 + pad, 2) << name << "FB" << little(pad, 2) << std::string(pad, 'Z');
    const bool wide = local >= kWide;
    directory_ += little(0x02014b50, 4) + little(0, 16) + size + size + little(name.size(), 2) +
                  little(wide ? 12 : 0, 2) + little(0, 10) + little(std::min(local, kWide), 4) +
                  name;
    if (wide) directory_ += little(1, 2) + little(8, 2) + little(local, 8);
    ++count_;
  }

  std::ofstream out_;
  std::string directory_;
  uint64_t count_ = 0;
};

std::string pickled(const std::string& text) { return "X" + little(text.size(), 4) + text; }
std::string pickled(int64_t number) { return "J" + little(static_cast<uint64_t>(number), 4); }
std::string pickled(const std::vector<int64_t>& numbers) {
  std::string out = "(";
  for (const int64_t number : numbers) out += pickled(number);
  return out + "t";
}

/// Returns the pickle that torch.save() writes for a tensor with its own storage.
std::string pickled(const PublishedTensor& tensor, const std::string& storage) {
  const char* type = tensor.type == "I64"   ? "LongStorage"
                     : tensor.type == "F32" ? "FloatStorage"
                                            : "BFloat16Storage";
  std::vector<int64_t> strides(tensor.shape.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * tensor.shape[i];
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled("storage") + "ctorch\n" + type + "\n" +
         pickled(storage) + pickled("cpu") + pickled(tensor.count()) + "tQ" + pickled(0) +
         pickled(tensor.shape) + pickled(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

void write_torch(const PublishedFile& file, const std::string& path) {
  const std::string root = std::filesystem::path(path).stem().string() + "/";
  std::map<std::string, std::string> storages;  // name of the storage of each tensor
  for (const auto& [name, tensor] : file.tensors) {
    if (tensor.same.empty()) storages.emplace(name, std::to_string(storages.size()));
  }
  const size_t above = file.inside.empty() ? 0 : file.inside.size() + 1;
  std::string pickle = "\x80\x02}(";
  if (above > 0) pickle += pickled(file.inside) + "}(";
  for (const auto& [name, tensor] : file.tensors) {
    const std::string& owner = tensor.same.empty() ? name : tensor.same;
    pickle += pickled(name.substr(above)) + pickled(tensor, storages.at(owner));
  }
  pickle += above > 0 ? "uu." : "u.";
  SparseZip zip(path);
  zip.add(root + "data.pkl", pickle);
  zip.add(root + "byteorder", "little");
  for (const auto& [name, storage] : storages) {
    const PublishedTensor& tensor = file.tensors.at(name);
    zip.add_hole(root + "data/" + storage, static_cast<uint64_t>(tensor.count() * tensor.width()));
  }
  zip.add(root + "version", "3\n");
}

}  // namespace

int64_t PublishedTensor::count() const {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

PublishedFile PublishedFile::read(const std::string& path) {
  PublishedFile out;
  std::istringstream lines(slurp(path));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string type, sizes, pattern, equals, same;
    words >> type >> sizes >> pattern >> equals >> same;
    if (type == "#") continue;
    if (type == "file") out.file_bytes = std::stoull(sizes);
    if (type == "data") out.stated_data = std::stoull(sizes);
    if (type == "about") out.about = std::stoull(sizes), out.give = std::stoull(pattern);
    if (type == "inside") out.inside = sizes;
    if (type == "tensors") {
      const std::string below = equals.empty() ? "" : equals + ".";
      for (auto& [name, tensor] : read(std::filesystem::path(path).parent_path() / sizes).tensors)
        out.tensors[below + name] = tensor;
    }
    if (type == "metadata") out.metadata[sizes] = pattern;
    if (type != "I64" && type != "F32" && type != "BF16") continue;
    PublishedTensor tensor{type, {}, same};
    std::istringstream numbers(sizes == "-" ? "" : sizes);
    for (std::string number; std::getline(numbers, number, 'x');)
      tensor.shape.push_back(std::stoll(number));
    for (const std::string& name : expanded(pattern)) out.tensors[name] = tensor;
  }
  return out;
}

uint64_t PublishedFile::data_bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : tensors)
    if (tensor.same.empty()) bytes += tensor.count() * tensor.width();
  return static_cast<uint64_t>(bytes);
}

void PublishedFile::write(const std::string& path) const {
  std::filesystem::remove(path);
  const std::string ending = std::filesystem::path(path).extension().string();
  const bool torch = ending == ".pt" || ending == ".pth" || ending == ".bin";
  (torch ? write_torch : write_safetensors)(*this, path);
}

TEST(PublishedFile, IsReadAsTorchFileBeyondFourGigabytes) {
  const TestDir dir;
  PublishedFile file;
  file.inside = "module";
  file.tensors = {{"module.a.table", {"F32", {1 << 20, 600}, ""}},
                  {"module.b.head", {"F32", {1 << 20, 600}, "module.a.table"}},
                  {"module.b.next", {"F32", {1 << 20, 600}, ""}},
                  {"module.c.weight", {"BF16", {3, 5}, ""}},
                  {"module.d.steps", {"I64", {}, ""}}};
  const std::string path = dir.path("model.pt");
  file.write(path);
  EXPECT_GT(std::filesystem::file_size(path), uint64_t{1} << 32);
  const std::unique_ptr<WeightSource> source = open_weights(path);
  EXPECT_EQ(source->names().size(), 5u);
  const View table = source->take("module.a.table", {1 << 20, 600});
  EXPECT_EQ(source->take("module.b.head", {1 << 20, 600}).data, table.data);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(table.data) % 64, 0u);
  EXPECT_EQ(source->describe("module.c.weight"), "bf16 [3, 5]");
  EXPECT_EQ(source->describe("module.d.steps"), "i64 []");
}

TEST(PublishedFile, FindsRangesAndSharedNumbers) {
  const TestDir dir;
  const PublishedFile file = PublishedFile::read(dir.write("x.pt.txt",
                                                           "# told\n"
                                                           "data 2480\n"
                                                           "about 2500 50\n"
                                                           "inside state\n"
                                                           "metadata format pt\n"
                                                           "F32 2x3 state.{0..1}.w.{3..12}.x\n"
                                                           "I64 - state.n\n"
                                                           "BF16 4x249 state.t\n"
                                                           "BF16 4x249 state.u = state.t\n"));
  EXPECT_EQ(file.tensors.size(), 23u);
  EXPECT_EQ(file.tensors.at("state.1.w.12.x").shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file.tensors.at("state.u").same, "state.t");
  EXPECT_EQ(file.metadata["format"], "pt");
  EXPECT_EQ(file.inside, "state");
  EXPECT_EQ(file.data_bytes(), file.stated_data);
  EXPECT_EQ(file.about, 2500u);
  EXPECT_EQ(file.give, 50u);
}

}  // namespace syrinx
