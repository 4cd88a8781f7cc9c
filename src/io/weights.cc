#include "io/weights.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/float16.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/torch_pickle.h"

namespace syrinx {
namespace {

constexpr size_t kMaxListed = 10;  // names of one kind that a message tells

/// A safetensors checkpoint.
class CheckpointWeights : public WeightSource {
 public:
  explicit CheckpointWeights(const std::string& path) : file_(path) {}

  std::string where(const std::string& name) const override { return file_.file_of(name); }
  bool has(const std::string& name) const override { return file_.find(name) != nullptr; }
  std::string describe(const std::string& name) const override { return file_.find(name)->str(); }
  std::optional<Shape> shape(const std::string& name) const override {
    const SafetensorsEntry* entry = file_.find(name);
    if (!entry || entry->sizes.size() > Shape::kMaxDims) return {};
    return Shape(std::span<const int64_t>(entry->sizes));
  }
  View take(const std::string& name, const Shape& want) override {
    const SafetensorsEntry* entry = file_.find(name);
    if (!entry || !entry->dtype || shape(name) != want) return {};
    return file_.view(name);
  }
  std::vector<std::string> names() const override { return file_.names(); }

 private:
  Safetensors file_;
};

/// A PyTorch checkpoint.
class TorchWeights : public WeightSource {
 public:
  explicit TorchWeights(const std::string& path) : file_(path) {}

  std::string where(const std::string&) const override { return file_.path(); }
  bool has(const std::string& name) const override { return file_.find(name) != nullptr; }
  std::string describe(const std::string& name) const override { return file_.find(name)->str(); }
  std::optional<Shape> shape(const std::string& name) const override {
    const TorchTensor* tensor = file_.find(name);
    if (!tensor || tensor->sizes.size() > Shape::kMaxDims) return {};
    return Shape(std::span<const int64_t>(tensor->sizes));
  }
  View take(const std::string& name, const Shape& want) override {
    const TorchTensor* tensor = file_.find(name);
    if (!tensor || !tensor->dtype || shape(name) != want) return {};
    return file_.view(*tensor);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const TorchTensor& tensor : file_.tensors()) names.push_back(tensor.name);
    return names;
  }

 private:
  TorchPickle file_;
};

/// The PyTorch file that `path` means; empty when it means safetensors.
std::string torch_file(const std::string& path) {
  if (path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth")) return path;
  const std::string file = join_path(path, "pytorch_model.bin");
  const bool safe = is_file(join_path(path, "model.safetensors")) ||
                    is_file(join_path(path, "model.safetensors.index.json"));
  return is_directory(path) && !safe && is_file(file) ? file : "";
}

/// Zeros that cost address space only: the kernel maps its zero page for reads.
class Zeros {
 public:
  explicit Zeros(size_t bytes) : size_(std::max<size_t>(bytes, 1)) {
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~Zeros() { ::munmap(data_, size_); }
  Zeros(const Zeros&) = delete;
  Zeros& operator=(const Zeros&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  size_t size_;
};

std::string listed(const std::vector<std::string>& items, const char* heading, const char* indent) {
  if (items.empty()) return {};
  std::string text = concat(heading, " (", items.size(), "):");
  for (size_t i = 0; i < std::min(items.size(), kMaxListed); ++i)
    text += indent + shown(items[i], 300);
  if (items.size() > kMaxListed)
    text += concat(indent, "... and ", items.size() - kMaxListed, " more");
  return text;
}

}  // namespace

struct Weights::Ledger {
  std::unique_ptr<WeightSource> source;
  std::set<std::string> used, ignored, missing;
  std::map<std::string, std::string> wrong;  // name -> message
  std::vector<std::unique_ptr<Zeros>> zeros;
};

std::unique_ptr<WeightSource> open_weights(const std::string& path) {
  if (const std::string file = torch_file(path); !file.empty())
    return std::make_unique<TorchWeights>(file);
  return std::make_unique<CheckpointWeights>(path);
}

Weights::Weights(std::unique_ptr<WeightSource> source) : ledger_(std::make_shared<Ledger>()) {
  ledger_->source = std::move(source);
}

Weights::Weights(std::shared_ptr<Ledger> ledger, std::string scope)
    : ledger_(std::move(ledger)), scope_(std::move(scope)) {}

Weights Weights::scope(const std::string& name) const {
  return Weights(ledger_, name.empty() ? scope_ : scope_ + name + ".");
}

Weights Weights::scope(const std::string& name, int64_t index) const {
  return scope(name + "." + std::to_string(index));
}

bool Weights::has(const std::string& name) const { return ledger_->source->has(full(name)); }

std::optional<Shape> Weights::shape(const std::string& name) const {
  return ledger_->source->shape(full(name));
}

void Weights::fault(const std::string& name, const std::string& what) const {
  const std::string whole = full(name);
  ledger_->wrong.emplace(whole,
                         ledger_->source->where(whole) + ": tensor " + shown(whole) + ": " + what);
}

View Weights::take(const std::string& name, const Shape& shape) const {
  const std::string whole = full(name);
  ledger_->used.insert(whole);
  const View view = ledger_->source->take(whole, shape);
  if (!view.empty()) return view;
  if (has(name)) {
    const bool fits = this->shape(name) == shape;
    fault(name, concat("expected ", fits ? "f32, f16, bf16 or an integer type" : shape.str(),
                       ", got ", ledger_->source->describe(whole)));
  } else {
    ledger_->missing.insert(whole);
  }
  View zeros{nullptr, DType::kBF16, shape, Device::kCpu};
  ledger_->zeros.push_back(std::make_unique<Zeros>(zeros.bytes()));
  zeros.data = ledger_->zeros.back()->data();
  return zeros;
}

Tensor Weights::f32(const std::string& name, const Shape& shape) const {
  const View view = take(name, shape);
  if (view.dtype == DType::kF32 || view.dtype == DType::kBF16 || view.dtype == DType::kF16)
    return to_f32(view);
  fault(name, concat("expected f32, bf16 or f16 ", shape.str(), ", got ", dtype_name(view.dtype),
                     " ", view.shape.str()));
  return Tensor(shape, DType::kF32);
}

void Weights::ignore(const std::string& prefix) const { ledger_->ignored.insert(full(prefix)); }

WeightReport Weights::report() const {
  WeightReport report;
  for (const auto& name : ledger_->missing)
    if (name.starts_with(scope_)) report.missing.push_back(name);
  for (const auto& [name, message] : ledger_->wrong)
    if (name.starts_with(scope_)) report.wrong.push_back(message);
  for (const auto& name : ledger_->source->names()) {
    const auto& ignored = ledger_->ignored;
    if (!name.starts_with(scope_) || ledger_->used.contains(name)) continue;
    if (std::any_of(ignored.begin(), ignored.end(),
                    [&](const std::string& prefix) { return name.starts_with(prefix); }))
      continue;
    report.unused.push_back(name);
  }
  std::sort(report.unused.begin(), report.unused.end());
  return report;
}

std::string Weights::finish() const {
  const WeightReport found = report();
  const std::string faults = found.faults();
  if (!faults.empty()) throw LoadError(ledger_->source->where(scope_) + ": " + faults);
  return found.warnings();
}

std::string WeightReport::faults() const {
  std::string text = listed(missing, "missing tensors", "\n  ");
  if (!text.empty() && !wrong.empty()) text += "\n";
  return text + listed(wrong, "tensors of the wrong shape or type", "\n  ");
}

std::string WeightReport::warnings() const { return listed(unused, "unused tensors", " "); }

Tensor to_f32(const View& view) {
  Tensor out(view.shape, DType::kF32);
  const int64_t count = view.count();
  switch (view.dtype) {
    case DType::kF32:
      if (count > 0) std::memcpy(out.f32(), view.data, view.bytes());
      return out;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) out.f32()[i] = bf16_to_f32(view.bf16()[i]);
      return out;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) out.f32()[i] = f16_to_f32(view.f16()[i]);
      return out;
    default:
      SYRINX_CHECK(false, "[to_f32] expected a float type, got ", dtype_name(view.dtype));
      return out;
  }
}

}  // namespace syrinx
