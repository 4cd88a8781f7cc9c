#include "io/torch_pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "base/check.h"
#include "io/pickle.h"
#include "io/zip_archive.h"

namespace syrinx {
namespace {

constexpr size_t kMaxPickleBytes = 64u << 20;
constexpr size_t kMaxTorchTensors = 1u << 20;
constexpr size_t kMaxVisits = 2u << 20;  // most visited values; shared values count at each visit
constexpr int kMaxDepth = 32;            // greatest depth of nested dicts
constexpr size_t kMaxPickledSizes = 16;
constexpr size_t kMaxTorchName = 1024;  // most bytes of a tensor's name

constexpr std::string_view kDict = "collections OrderedDict";
constexpr std::string_view kTensor = "torch._utils _rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils _rebuild_parameter";

struct StorageType {
  std::string_view name;
  size_t size;
  std::optional<DType> dtype;
};
constexpr std::array<StorageType, 11> kStorages = {{
    {"FloatStorage", 4, DType::kF32},
    {"HalfStorage", 2, DType::kF16},
    {"BFloat16Storage", 2, DType::kBF16},
    {"LongStorage", 8, DType::kI64},
    {"IntStorage", 4, DType::kI32},
    {"CharStorage", 1, DType::kI8},
    {"ByteStorage", 1, DType::kU8},
    {"DoubleStorage", 8, {}},
    {"ShortStorage", 2, {}},
    {"BoolStorage", 1, {}},
    {"ComplexFloatStorage", 8, {}},
}};

const StorageType* find_storage(std::string_view global) {
  constexpr std::string_view kModule = "torch ";
  if (!global.starts_with(kModule)) return nullptr;
  global.remove_prefix(kModule.size());
  const auto* row = std::find_if(kStorages.begin(), kStorages.end(),
                                 [&](const StorageType& each) { return each.name == global; });
  return row == kStorages.end() ? nullptr : row;
}

bool allowed_global(std::string_view name) {
  return name == kDict || name == kTensor || name == kParameter || find_storage(name);
}

/// Visits all values from the root and collects the tensors with their names.
class Collector {
 public:
  Collector(const Pickle& pickle, const ZipArchive& zip, const std::string& prefix,
            const std::string& path, std::span<const std::string_view> records)
      : pickle_(pickle), zip_(zip), prefix_(prefix), path_(path), records_(records) {}

  std::vector<TorchTensor> run() {
    walk(pickle_.root, "", 0);
    return std::move(out_);
  }
  /// Returns the integers found by run().
  std::map<std::string, int64_t> numbers() { return std::move(numbers_); }

 private:
  using Kind = PickleValue::Kind;
  const PickleValue& at(PickleId id) const { return pickle_.values[id]; }

  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    load_fault(path_, name.empty() ? "" : "tensor " + shown(name), what);
  }

  void walk(PickleId id, const std::string& name, int depth) {
    if (++visits_ > kMaxVisits || depth > kMaxDepth || name.size() > kMaxTorchName)
      fail(name, "the file nests its values too often or too deep");
    const PickleValue& value = at(id);
    const std::string dot = name.empty() ? "" : ".";
    if (value.kind == Kind::kDict) {
      for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
        const PickleValue& key = at(value.items[i]);
        if (key.kind == Kind::kText) {
          walk(value.items[i + 1], name + dot + key.text, depth + 1);
        } else if (key.kind == Kind::kInt) {
          walk(value.items[i + 1], name + dot + std::to_string(key.number), depth + 1);
        }
      }
    } else if (value.kind == Kind::kList || value.kind == Kind::kTuple) {
      for (size_t i = 0; i < value.items.size(); ++i)
        walk(value.items[i], name + dot + std::to_string(i), depth + 1);
    } else if (value.kind == Kind::kCall) {
      if (is_record(value)) {
        if (value.items.size() > 2) walk(value.items[2], name, depth + 1);
      } else {
        take_call(value, name);
      }
    } else if (value.kind == Kind::kInt) {
      if (numbers_.size() < kMaxTorchTensors) numbers_.emplace(name, value.number);
    }  // texts and None contain no tensors
  }

  bool is_record(const PickleValue& call) const {
    return std::ranges::find(records_, at(call.items[0]).text) != records_.end();
  }

  void take_call(const PickleValue& call, const std::string& name) {
    const std::string& function = at(call.items[0]).text;
    const std::vector<PickleId>& arguments = at(call.items[1]).items;
    if (function == kParameter) {
      if (arguments.empty() || at(arguments[0]).kind != Kind::kCall ||
          at(at(arguments[0]).items[0]).text != kTensor)
        fail(name, "expected the tensor of a parameter");
      return take_call(at(arguments[0]), name);
    }
    if (function != kTensor) fail(name, "expected a tensor, got a call of " + shown(function));
    if (arguments.size() < 4) fail(name, "expected storage, offset, sizes and strides");
    if (out_.size() >= kMaxTorchTensors) fail(name, "too many tensors");
    if (!names_.insert(name).second) fail(name, "occurs twice");
    TorchTensor tensor;
    tensor.name = name;
    tensor.sizes = numbers(arguments[2], name);
    tensor.strides = numbers(arguments[3], name);
    place(tensor, arguments[0], number(arguments[1], name));
    out_.push_back(std::move(tensor));
  }

  int64_t number(PickleId id, const std::string& name) const {
    const PickleValue& value = at(id);
    if (value.kind != Kind::kInt || value.number < 0) fail(name, "expected a number of 0 or more");
    return value.number;
  }
  std::vector<int64_t> numbers(PickleId id, const std::string& name) const {
    const PickleValue& value = at(id);
    if (value.kind != Kind::kTuple || value.items.size() > kMaxPickledSizes)
      fail(name, concat("expected at most ", kMaxPickledSizes, " dimensions"));
    std::vector<int64_t> out;
    for (const PickleId item : value.items) out.push_back(number(item, name));
    return out;
  }

  /// Sets the position of a tensor's bytes from its persistent id ('storage', type, key, device,
  /// elements).
  void place(TorchTensor& tensor, PickleId storage, int64_t offset) {
    const std::string& name = tensor.name;
    const PickleValue* ref = &at(storage);
    if (ref->kind == Kind::kRef) ref = &at(ref->items[0]);
    if (at(storage).kind != Kind::kRef || ref->kind != Kind::kTuple || ref->items.size() < 5 ||
        at(ref->items[0]).text != "storage" || at(ref->items[1]).kind != Kind::kGlobal ||
        at(ref->items[2]).kind != Kind::kText)
      fail(name, "expected a storage");
    const StorageType* type = find_storage(at(ref->items[1]).text);
    if (!type) fail(name, "expected a type of storage, got " + shown(at(ref->items[1]).text));
    tensor.type_name = type->name;
    tensor.dtype = type->dtype;
    const int64_t elements = number(ref->items[4], name);
    const std::string record = prefix_ + "data/" + at(ref->items[2]).text;
    const ZipEntry* entry = zip_.find(record);
    if (!entry) fail(name, "expected the entry " + shown(record) + " in the archive");
    int64_t bytes = 0;
    if (__builtin_mul_overflow(elements, static_cast<int64_t>(type->size), &bytes) ||
        static_cast<uint64_t>(bytes) > entry->size())
      fail(name, concat("expected ", elements, " elements of ", type->size, " bytes in ",
                        shown(record), ", got ", entry->size(), " bytes"));
    check_inside(tensor, offset, elements);
    // A tensor without elements may have any offset.
    const uint64_t first = tensor.count() == 0 ? 0 : static_cast<uint64_t>(offset) * type->size;
    tensor.begin = entry->begin + first;
  }

  void check_inside(const TorchTensor& tensor, int64_t offset, int64_t elements) const {
    const std::string& name = tensor.name;
    if (tensor.sizes.size() != tensor.strides.size())
      fail(name,
           concat("has ", tensor.sizes.size(), " sizes, but ", tensor.strides.size(), " strides"));
    int64_t count = 1, last = offset;
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      int64_t reach = 0;
      if (__builtin_mul_overflow(count, tensor.sizes[i], &count))
        fail(name, "its sizes are too large");
      if (tensor.sizes[i] == 0) continue;
      if (__builtin_mul_overflow(tensor.sizes[i] - 1, tensor.strides[i], &reach) ||
          __builtin_add_overflow(last, reach, &last))
        fail(name, "its sizes are too large");
    }
    // A tensor with more elements than its storage repeats rows; no checkpoint needs this.
    if (count > 0 && (last >= elements || count > elements))
      fail(name, concat("expected at most ", elements, " elements, got ", tensor.str(), " from ",
                        offset));
  }

  const Pickle& pickle_;
  const ZipArchive& zip_;
  const std::string& prefix_;
  const std::string& path_;
  const std::span<const std::string_view> records_;
  std::vector<TorchTensor> out_;
  std::map<std::string, int64_t> numbers_;
  std::set<std::string> names_;
  size_t visits_ = 0;
};

/// Returns "archive/" from the entry "archive/data.pkl", which every file has exactly once.
std::string find_prefix(const ZipArchive& zip, const std::string& path) {
  constexpr std::string_view kName = "data.pkl";
  const std::string* found = nullptr;
  for (const auto& [name, entry] : zip.entries()) {
    if (!name.ends_with("/data.pkl") || name.find('/') != name.size() - kName.size() - 1) continue;
    if (found) load_fault(path, "", "has more than one data.pkl");
    found = &name;
  }
  if (!found)
    load_fault(path, "", "expected a PyTorch checkpoint; the archive has no data.pkl in it");
  return found->substr(0, found->size() - kName.size());
}

/// Copies a strided tensor to contiguous memory.
void gather(const std::byte* from, const TorchTensor& t, size_t unit, size_t dim, std::byte*& to) {
  if (dim == t.sizes.size()) {
    std::memcpy(to, from, unit);
    to += unit;
    return;
  }
  for (int64_t i = 0; i < t.sizes[dim]; ++i)
    gather(from + static_cast<uint64_t>(i * t.strides[dim]) * unit, t, unit, dim + 1, to);
}

}  // namespace

int64_t TorchTensor::count() const {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

bool TorchTensor::contiguous() const {
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != step) return count() == 0;
    step *= sizes[i];
  }
  return true;
}

std::string TorchTensor::str() const {
  std::string text = "[";
  for (const int64_t size : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return (dtype ? std::string(dtype_name(*dtype)) : type_name) + " " + text + "]";
}

TorchPickle::TorchPickle(const std::string& path, std::span<const std::string_view> records)
    : TorchPickle(MappedFile::open(path), records) {}

TorchPickle::TorchPickle(std::shared_ptr<const MappedFile> file,
                         std::span<const std::string_view> records)
    : file_(std::move(file)) {
  const std::string& path = file_->path();
  const ZipArchive zip(file_);
  const std::string prefix = find_prefix(zip, path);
  if (const ZipEntry* order = zip.find(prefix + "byteorder");
      order && zip.text(*order).substr(0, 16) != "little")
    load_fault(path, "byteorder", "expected little, got " + shown(zip.text(*order), 16));
  const ZipEntry* entry = zip.find(prefix + "data.pkl");
  if (entry->size() > kMaxPickleBytes)
    load_fault(path, "data.pkl",
               concat("expected at most ", kMaxPickleBytes, " bytes, got ", entry->size()));
  const auto allowed = [&](std::string_view name) {
    return allowed_global(name) || std::ranges::find(records, name) != records.end();
  };
  const Pickle pickle = read_pickle(zip.text(*entry), path, allowed, kDict);
  Collector collector(pickle, zip, prefix, path, records);
  tensors_ = collector.run();
  numbers_ = collector.numbers();
  for (size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
}

const TorchTensor* TorchPickle::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

View TorchPickle::view(const TorchTensor& tensor) const {
  if (!tensor.dtype || tensor.sizes.size() > Shape::kMaxDims)
    load_fault(path(), "tensor " + shown(tensor.name),
               concat("expected one of f32, f16, bf16, i64, i32, i8, u8 with at most ",
                      Shape::kMaxDims, " dimensions, got ", tensor.str()));
  const std::byte* data = file_->bytes().data() + tensor.begin;
  const Shape shape{std::span<const int64_t>(tensor.sizes)};
  const size_t unit = dtype_size(*tensor.dtype);
  if (tensor.contiguous() && reinterpret_cast<uintptr_t>(data) % unit == 0)
    return View{const_cast<std::byte*>(data), *tensor.dtype, shape, Device::kCpu};
  const std::scoped_lock lock(mutex_);
  Tensor& copy = copies_[tensor.name];
  if (copy.empty()) {
    copy = Tensor(shape, *tensor.dtype);
    auto* to = static_cast<std::byte*>(copy.view().data);
    gather(data, tensor, unit, 0, to);
  }
  return copy;
}

}  // namespace syrinx
