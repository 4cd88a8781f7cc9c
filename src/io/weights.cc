#include "io/weights.h"

#include <fnmatch.h>
#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <set>

#include "base/error.h"
#include "base/float16.h"
#include "base/memory.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/taken_bytes.h"
#include "io/torch_pickle.h"
#include "io/torch_weights.h"
#include "tensor/finite.h"

namespace syrinx {
namespace {

constexpr size_t kMaxListed = 10;  // most names per list in a message

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

/// The weights of a PyTorch checkpoint.
class TorchWeights : public WeightSource {
 public:
  explicit TorchWeights(std::shared_ptr<const MappedFile> file) : file_(std::move(file)) {}

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

/// Returns the path of the PyTorch file at `path`; empty if the directory has safetensors.
std::string torch_file(const std::string& path) {
  if (path.ends_with(".bin") || path.ends_with(".pt") || path.ends_with(".pth")) return path;
  const std::string file = join_path(path, "pytorch_model.bin");
  const bool safe = is_file(join_path(path, "model.safetensors")) ||
                    is_file(join_path(path, "model.safetensors.index.json"));
  return is_directory(path) && !safe && is_file(file) ? file : "";
}

/// A buffer of zeros that uses only address space: the kernel maps its zero page for reads.
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

std::string listed(const std::vector<std::string>& items, const char* heading) {
  if (items.empty()) return {};
  std::string text = concat(heading, " (", items.size(), "):");
  for (size_t i = 0; i < std::min(items.size(), kMaxListed); ++i)
    text += "\n  " + shown(items[i], 300);
  if (items.size() > kMaxListed) text += concat("\n  ... and ", items.size() - kMaxListed, " more");
  return text;
}

}  // namespace

struct Weights::Ledger {
  std::unique_ptr<WeightSource> source;
  std::set<std::string> used, ignored, missing;  // `ignored` has patterns of complete names
  std::map<std::string, std::string> wrong;      // name -> message of its fault
  std::vector<std::unique_ptr<Zeros>> zeros;
  size_t zero_bytes = 0;
  std::string last;  // name of the last requested tensor
};

std::unique_ptr<WeightSource> open_weights(const std::string& path) {
  if (const std::string file = torch_file(path); !file.empty())
    return open_torch_weights(MappedFile::open(file));
  return std::make_unique<CheckpointWeights>(path);
}

std::unique_ptr<WeightSource> open_torch_weights(std::shared_ptr<const MappedFile> file) {
  return std::make_unique<TorchWeights>(std::move(file));
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
  ledger_->wrong.emplace(whole, concat(ledger_->source->where(whole), ": tensor ",
                                       shown(ledger_->source->stored_name(whole)), ": ", what));
}

int64_t Weights::count(const std::string& name) const {
  const std::string before = full(name) + ".";
  int64_t parts = 0;
  for (const std::string& each : ledger_->source->names()) {
    if (!each.starts_with(before)) continue;
    int64_t number = 0;
    const char *begin = each.data() + before.size(), *end = each.data() + each.size();
    const auto [after, error] = std::from_chars(begin, end, number);
    const bool part = error == std::errc() && after != end && *after == '.' && number >= 0;
    if (part && number < kMostParts) parts = std::max(parts, number + 1);
  }
  return parts;
}

View Weights::zeros(const Shape& shape) const {
  View view{nullptr, DType::kBF16, shape, Device::kCpu};
  ledger_->zero_bytes += view.bytes();
  if (ledger_->zero_bytes > kMostZeros) refuse(Weights(ledger_, "").report({"*"}), "(no further)");
  ledger_->zeros.push_back(std::make_unique<Zeros>(view.bytes()));
  view.data = ledger_->zeros.back()->data();
  return view;
}

View Weights::take(const std::string& name, const Shape& shape) const {
  const std::string whole = full(name);
  const bool first = ledger_->used.insert(whole).second;
  ledger_->last = whole;
  const View view = ledger_->source->take(whole, shape);
  if (first && !view.empty()) TakenBytes::add(static_cast<int64_t>(view.bytes()));
  const bool floats =
      view.dtype == DType::kF32 || view.dtype == DType::kBF16 || view.dtype == DType::kF16;
  if (!view.empty() && floats) return view;
  if (has(name)) {
    const std::string type = this->shape(name) == shape ? "f32, bf16 or f16 " : "";
    fault(name, concat("expected ", type, shape.str(), ", got ", ledger_->source->describe(whole)));
  } else {
    ledger_->missing.insert(whole);
  }
  return zeros(shape);
}

Tensor Weights::f32(const std::string& name, const Shape& shape) const {
  const View view = take(name, shape);
  expect_memory(view.count() * static_cast<int64_t>(sizeof(float)));
  if (!all_finite(view, 0, view.count())) fault(name, "has NaN or infinity");
  return to_f32(view);
}

void Weights::ignore(const std::string& pattern) const { ledger_->ignored.insert(full(pattern)); }

WeightReport Weights::report(const NamePatterns& extras) const {
  WeightReport report;
  for (const auto& name : ledger_->missing)
    if (name.starts_with(scope_)) report.missing.push_back(ledger_->source->stored_name(name));
  for (const auto& [name, message] : ledger_->wrong)
    if (name.starts_with(scope_)) report.wrong.push_back(message);
  NamePatterns known;
  for (const std::string& pattern : extras) known.push_back(full(pattern));
  for (const std::string& pattern : ledger_->ignored)
    if (pattern.starts_with(scope_)) known.push_back(pattern);
  for (const auto& name : ledger_->source->names()) {
    if (!name.starts_with(scope_) || ledger_->used.contains(name)) continue;
    const auto fits = [&name](const std::string& pattern) {
      return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    };
    if (std::none_of(known.begin(), known.end(), fits)) report.unused.push_back(name);
  }
  std::sort(report.unused.begin(), report.unused.end());
  return report;
}

void Weights::refuse(const WeightReport& report, const std::string& more) const {
  const std::string faults = report.faults(), where = ledger_->source->where(scope_);
  throw LoadError(concat(where, ": ", faults, more.empty() || faults.empty() ? "" : "\n", more));
}

void Weights::finish(const NamePatterns& extras) const {
  const WeightReport found = report(extras);
  if (!found.faults().empty()) refuse(found);
}

/// Records which of the tensors taken so far contain NaN or infinity. Called only after loading has
/// failed, because it reads all these tensors again.
void Weights::name_what_is_not_finite() const {
  WeightSource& source = *ledger_->source;
  for (const std::string& name : ledger_->used) {
    const std::optional<Shape> shape = source.shape(name);
    if (!shape) continue;
    const View view = source.take(name, *shape);
    if (view.empty() || all_finite(view, 0, view.count())) continue;
    Weights(ledger_, "").fault(name, "has NaN or infinity");
  }
}

void Weights::build(const std::function<void()>& make, const NamePatterns& extras) const {
  // Loading is incomplete, so unused tensors do not explain a failure.
  const auto found = [this] { return report({"*"}); };
  try {
    make();
  } catch (const NotFinite&) {
    name_what_is_not_finite();
    if (!found().faults().empty()) refuse(found());
    throw;
  } catch (const std::bad_alloc& error) {
    if (!found().faults().empty()) refuse(found());
    const std::string& last = ledger_->last;
    throw LoadError(
        concat(ledger_->source->where(last), ": tensor ", shown(last), ": ",
               dynamic_cast<const OutOfMemory*>(&error) ? error.what() : "not enough memory"));
  } catch (const std::logic_error&) {
    if (!found().faults().empty()) refuse(found());
    throw;
  }
  finish(extras);
}

std::string WeightReport::faults() const {
  std::string text;
  for (const std::string& part :
       {listed(missing, "missing tensors"), listed(wrong, "tensors that do not fit"),
        listed(unused,
               "tensors that do not belong to this model, or to a part of it that its "
               "config leaves out")}) {
    if (!text.empty() && !part.empty()) text += "\n";
    text += part;
  }
  return text;
}

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
