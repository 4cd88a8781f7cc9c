#include "io/gguf_weights.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "base/float16.h"
#include "base/memory.h"

namespace syrinx {
namespace {

/// Returns the type of values that are stored unpacked. Returns nullopt for quantized values.
std::optional<DType> plain_type(const GgmlType& type) {
  if (type.unpack != nullptr) return {};
  const std::string_view name = type.name;
  return name == "F32" ? DType::kF32 : name == "F16" ? DType::kF16 : DType::kBF16;
}

Shape shape_of(const GgufTensor& tensor) { return Shape(std::span<const int64_t>(tensor.sizes)); }

/// Returns whether two shapes differ at most by first and last sizes of 1.
bool same_rows(const Shape& a, const Shape& b) {
  const auto inner = [](const Shape& shape) {
    int from = 0, to = shape.dims();
    while (from < to && shape[from] == 1) ++from;
    while (from < to && shape[to - 1] == 1) --to;
    return std::pair(from, to);
  };
  const auto [from, to] = inner(a);
  const auto [other, end] = inner(b);
  if (to - from != end - other) return false;
  for (int i = 0; from + i < to; ++i)
    if (a[from + i] != b[other + i]) return false;
  return true;
}

class GgufTensors : public WeightSource {
 public:
  GgufTensors(std::shared_ptr<const GgufFile> file, GgufNames names, std::set<std::string> tables,
              std::set<std::string> elsewhere)
      : file_(std::move(file)),
        names_(std::move(names)),
        tables_(std::move(tables)),
        elsewhere_(std::move(elsewhere)) {}

  std::string where(const std::string&) const override { return file_->path(); }
  bool has(const std::string& name) const override { return find(name) != nullptr; }
  std::string stored_name(const std::string& name) const override {
    const auto found = names_.find(name);
    return found == names_.end() ? name : found->second.name;
  }
  std::string describe(const std::string& name) const override { return find(name)->str(); }
  std::optional<Shape> shape(const std::string& name) const override {
    const GgufTensor* tensor = find(name);
    if (tensor == nullptr) return {};
    return shape_of(*tensor);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    std::set<std::string> known = elsewhere_;
    for (const auto& [ours, theirs] : names_) {
      if (file_->find(theirs.name)) out.push_back(ours);
      known.insert(theirs.name);
    }
    for (const GgufTensor& tensor : file_->tensors())
      if (!known.contains(tensor.name)) out.push_back(tensor.name);
    return out;
  }

  View take(const std::string& name, const Shape& want) override {
    const GgufTensor* tensor = find(name);
    if (!tensor || !tensor->type || want.count() == 0 || !same_rows(shape_of(*tensor), want)) {
      return {};
    }
    const int heads = names_.at(name).paired_heads;
    if (heads > 0 && want[0] % (2 * heads) != 0) return {};
    const std::optional<View> plain = plain_view(*tensor);
    if (plain && heads == 0) return plain->reshape(want);
    const bool table = tables_.contains(name);
    if (table && kept_.contains(name)) return kept_.at(name).view().reshape(want);
    Tensor made = unpacked(*tensor, table ? DType::kF16 : DType::kF32);
    if (heads > 0) made = halved(made, want[0], heads);
    if (table) return kept_.emplace(name, std::move(made)).first->second.view().reshape(want);
    constexpr size_t kLatest = 8;
    if (latest_.size() == kLatest) latest_.pop_front();
    latest_.push_back(std::move(made));
    return latest_.back().view().reshape(want);
  }

 private:
  const GgufTensor* find(const std::string& name) const {
    const auto found = names_.find(name);
    return found == names_.end() ? nullptr : file_->find(found->second.name);
  }

  static Tensor unpacked(const GgufTensor& tensor, DType dtype) {
    const Shape shape = shape_of(tensor);
    expect_memory(shape.count() * static_cast<int64_t>(dtype_size(dtype)));
    Tensor out(shape, dtype);
    const int64_t width = shape[-1], rows = shape.count() / width;
    std::vector<float> narrow(dtype == DType::kF16 ? static_cast<size_t>(width) : 0);
    for (int64_t row = 0; row < rows; ++row) {
      unpack_row(tensor, row, narrow.empty() ? out.f32() + row * width : narrow.data());
      for (size_t i = 0; i < narrow.size(); ++i)
        out.view().f16()[row * width + static_cast<int64_t>(i)] = f32_to_f16(narrow[i]);
    }
    return out;
  }

  /// Moves row 2 i + s of each head to row s * half + i.
  static Tensor halved(const Tensor& paired, int64_t rows, int heads) {
    Tensor out(paired.shape(), DType::kF32);
    const int64_t size = rows / heads, width = out.view().count() / rows;
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t in_head = row % size, to = row - in_head + in_head % 2 * size / 2 + in_head / 2;
      std::copy_n(paired.f32() + row * width, width, out.f32() + to * width);
    }
    return out;
  }

  std::shared_ptr<const GgufFile> file_;
  GgufNames names_;
  std::set<std::string> tables_, elsewhere_;
  std::map<std::string, Tensor> kept_;  // unpacked tables
  std::deque<Tensor> latest_;           // other unpacked tensors
};

}  // namespace

std::optional<View> plain_view(const GgufTensor& tensor) {
  const std::optional<DType> plain = plain_type(*tensor.type);
  if (!plain || reinterpret_cast<uintptr_t>(tensor.data.data()) % dtype_size(*plain) != 0)
    return {};
  return View{const_cast<char*>(tensor.data.data()), *plain, shape_of(tensor), Device::kCpu};
}

void unpack_row(const GgufTensor& tensor, int64_t row, float* to) {
  const GgmlType& type = *tensor.type;
  const int64_t width = tensor.sizes.back();
  const auto blocks = static_cast<size_t>(width / type.block);
  const char* from = tensor.data.data() + static_cast<size_t>(row) * blocks * type.block_bytes;
  for (size_t i = 0; type.unpack && i < blocks; ++i) {
    type.unpack(reinterpret_cast<const uint8_t*>(from + i * type.block_bytes),
                to + static_cast<int64_t>(i) * type.block);
  }
  if (type.unpack) return;
  for (int64_t i = 0; i < width; ++i) {
    if (type.block_bytes == sizeof(float)) {
      std::memcpy(to + i, from + i * int64_t{sizeof(float)}, sizeof(float));
      continue;
    }
    uint16_t bits;
    std::memcpy(&bits, from + i * int64_t{sizeof bits}, sizeof bits);
    to[i] = plain_type(type) == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

std::unique_ptr<WeightSource> gguf_weights(std::shared_ptr<const GgufFile> file, GgufNames names,
                                           std::set<std::string> tables,
                                           std::set<std::string> elsewhere) {
  return std::make_unique<GgufTensors>(std::move(file), std::move(names), std::move(tables),
                                       std::move(elsewhere));
}

}  // namespace syrinx
