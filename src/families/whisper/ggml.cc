#include "families/whisper/ggml.h"

#include <cstring>
#include <deque>

#include "base/bytes.h"
#include "base/check.h"
#include "base/memory.h"

namespace syrinx::whisper {
namespace {

constexpr uint32_t kMagic = 0x67676d6c;
constexpr const char* kSizes[] = {"n_vocab",       "n_audio_ctx", "n_audio_state", "n_audio_head",
                                  "n_audio_layer", "n_text_ctx",  "n_text_state",  "n_text_head",
                                  "n_text_layer",  "n_mels"};
constexpr int32_t kMostSize = 1 << 20, kMostTokens = 1 << 20;
constexpr uint32_t kMostToken = 1 << 10, kMostName = 256, kMostDims = 4;

class GgmlWeights : public WeightSource {
 public:
  explicit GgmlWeights(std::shared_ptr<const GgmlFile> file) : file_(std::move(file)) {}

  std::string where(const std::string&) const override { return file_->path(); }
  bool has(const std::string& name) const override { return file_->tensors().contains(name); }
  std::string describe(const std::string& name) const override {
    return file_->tensors().at(name).str();
  }
  std::optional<Shape> shape(const std::string& name) const override {
    const auto found = file_->tensors().find(name);
    if (found == file_->tensors().end()) return {};
    std::vector<int64_t> sizes = found->second.sizes;
    // The converter adds a second dimension of size 1 to the biases of convolutions.
    if (sizes.size() == 2 && sizes[1] == 1 && name.ends_with(".bias")) sizes.pop_back();
    return Shape(std::span<const int64_t>(sizes));
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, tensor] : file_->tensors()) out.push_back(name);
    return out;
  }

  View take(const std::string& name, const Shape& want) override {
    if (shape(name) != want || want.count() == 0) return {};
    const GgmlTensor& tensor = file_->tensors().at(name);
    const bool plain = tensor.type->unpack == nullptr;
    const DType dtype = !plain                          ? DType::kF32
                        : tensor.type->block_bytes == 4 ? DType::kF32
                                                        : DType::kF16;
    if (plain && reinterpret_cast<uintptr_t>(tensor.data.data()) % dtype_size(dtype) == 0) {
      return {const_cast<char*>(tensor.data.data()), dtype, want, Device::kCpu};
    }
    expect_memory(want.count() * static_cast<int64_t>(dtype_size(dtype)));
    Tensor copy(want, dtype);
    if (plain) {
      std::memcpy(copy.view().data, tensor.data.data(), tensor.data.size());
    } else {
      const GgmlType& type = *tensor.type;
      for (int64_t i = 0; i < want.count() / type.block; ++i) {
        const char* from = tensor.data.data() + static_cast<size_t>(i) * type.block_bytes;
        type.unpack(reinterpret_cast<const uint8_t*>(from), copy.f32() + i * type.block);
      }
    }
    constexpr size_t kKept = 8;
    if (latest_.size() == kKept) latest_.pop_front();
    latest_.push_back(std::move(copy));
    return latest_.back();
  }

 private:
  std::shared_ptr<const GgmlFile> file_;
  std::deque<Tensor> latest_;
};

/// Reads the next tensor of the file. Returns its name.
std::string read_tensor(ByteReader& in, const std::string& path, GgmlTensor& tensor) {
  const auto dims = in.number<uint32_t>(kMostDims);
  const auto length = in.number<uint32_t>(kMostName);
  tensor.type_number = in.number<uint32_t>();
  int64_t count = 1;
  for (uint32_t i = 0; i < dims; ++i) {
    tensor.sizes.insert(tensor.sizes.begin(), int64_t{in.number<uint32_t>(1u << 30)});
    if (__builtin_mul_overflow(count, tensor.sizes.front(), &count)) count = -1;
    if (count < 0) break;
  }
  const std::string name(in.bytes(length));
  const auto fail = [&](const std::string& what) {
    load_fault(path, "tensor " + shown(name), what);
  };
  tensor.type = ggml_type(tensor.type_number);
  if (tensor.type == nullptr) fail(concat("has the unsupported type ", tensor.type_number));
  const GgmlType& type = *tensor.type;
  const int64_t width = tensor.sizes.empty() ? 0 : tensor.sizes.back();
  if (count < 0 || dims == 0 || width % type.block != 0) fail("has invalid sizes: " + tensor.str());
  const auto blocks = static_cast<uint64_t>(count / type.block);
  if (blocks > in.left() / type.block_bytes) fail("is longer than the file: " + tensor.str());
  tensor.data = in.bytes(blocks * type.block_bytes);
  return name;
}

}  // namespace

std::string GgmlTensor::str() const {
  std::string text = type ? type->name : concat("type ", type_number);
  text += " [";
  for (const int64_t size : sizes) text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  return text + "]";
}

GgmlFile::GgmlFile(const std::string& path) : file_(MappedFile::open(path)) {
  const auto all = file_->bytes();
  const std::string_view bytes(reinterpret_cast<const char*>(all.data()), all.size());
  ByteReader in(bytes, file_->path().c_str());
  if (bytes.size() < sizeof kMagic || in.number<uint32_t>() != kMagic) {
    load_fault(path, "", "expected a model of whisper.cpp (ggml)");
  }
  for (const char* name : kSizes) {
    const auto size = in.number<int32_t>();
    if (size < 1 || size > kMostSize) load_fault(path, name, concat("is out of range: ", size));
    sizes_[name] = size;
  }
  in.number<int32_t>();  // type of most tensors, which is not needed
  const auto bands = in.number<uint32_t>(1024), bins = in.number<uint32_t>(1 << 14);
  in.bytes(size_t{bands} * bins * sizeof(float));  // the mel's filters, which are computed instead
  const auto count = in.number<int32_t>(kMostTokens);
  for (int32_t i = 0; i < count; ++i)
    tokens_.emplace_back(in.bytes(in.number<uint32_t>(kMostToken)));
  while (in.left() > 0) {
    GgmlTensor tensor;
    const std::string name = read_tensor(in, path, tensor);
    if (!tensors_.emplace(name, std::move(tensor)).second) {
      load_fault(path, "tensor " + shown(name), "occurs twice");
    }
  }
}

std::unique_ptr<WeightSource> ggml_weights(std::shared_ptr<const GgmlFile> file) {
  return std::make_unique<GgmlWeights>(std::move(file));
}

}  // namespace syrinx::whisper
