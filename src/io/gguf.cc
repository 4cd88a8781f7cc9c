#include "io/gguf.h"

#include <cmath>

#include "base/bytes.h"

namespace syrinx {
namespace {

constexpr uint64_t kMaxGgufTensors = 1 << 16, kMaxGgufValues = 1 << 16;
constexpr size_t kMaxGgufName = 1024;
constexpr uint32_t kMaxAlignment = 1 << 16;

// Types of metadata values; the values are the numbers in the file.
enum GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kFloat,
  kBool,
  kText,
  kList,
  kU64,
  kI64,
  kDouble
};

/// Reads a number of any GGUF number type; empty for other types.
std::optional<double> read_number(ByteReader& in, uint32_t type) {
  switch (type) {
    case kU8:
      return in.number<uint8_t>();
    case kI8:
      return in.number<int8_t>();
    case kU16:
      return in.number<uint16_t>();
    case kI16:
      return in.number<int16_t>();
    case kU32:
      return in.number<uint32_t>();
    case kI32:
      return in.number<int32_t>();
    case kFloat:
      return in.number<float>();
    case kBool:
      return in.number<uint8_t>();
    case kU64:
      return static_cast<double>(in.number<uint64_t>());
    case kI64:
      return static_cast<double>(in.number<int64_t>());
    case kDouble:
      return in.number<double>();
    default:
      return {};
  }
}

}  // namespace

std::string GgufTensor::str() const {
  std::string text = type ? type->name : concat("type ", type_number);
  text += " [";
  for (const int64_t size : sizes) text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  return text + "]";
}

void GgufFile::fail(const std::string& entry, const std::string& what) const {
  load_fault(file_->path(), entry.empty() ? "" : shown(entry), what);
}

std::string_view GgufFile::read_text(ByteReader& in) const {
  return in.bytes(in.number<uint64_t>(in.left()));
}

GgufFile::GgufFile(const std::string& path) : file_(MappedFile::open(path)) {
  const auto all = file_->bytes();
  const std::string_view bytes(reinterpret_cast<const char*>(all.data()), all.size());
  ByteReader in(bytes, file_->path().c_str());
  if (bytes.size() < 4 || in.bytes(4) != "GGUF") fail("", "is not a GGUF file");
  const auto version = in.number<uint32_t>();
  if (version < 2 || version > 3) fail("", concat("expected GGUF 2 or 3, got ", version));
  const auto tensors = in.number<uint64_t>(kMaxGgufTensors);
  const auto values = in.number<uint64_t>(kMaxGgufValues);
  for (uint64_t i = 0; i < values; ++i) {
    const std::string key(read_text(in));
    if (key.size() > kMaxGgufName) fail(key, "the key is too long");
    const auto type = in.number<uint32_t>();
    if (!values_.emplace(key, read_value(in, type, key)).second) fail(key, "occurs twice");
  }
  for (uint64_t i = 0; i < tensors; ++i) read_tensor(in);
  const int64_t alignment = integer("general.alignment", 32);
  if (alignment < 1 || alignment > kMaxAlignment) fail("general.alignment", "is out of range");
  const size_t read = bytes.size() - in.left(), step = static_cast<size_t>(alignment);
  place_tensors(bytes, (read + step - 1) / step * step);
}

GgufValue GgufFile::read_value(ByteReader& in, uint32_t type, const std::string& key) const {
  if (type == kText) return read_text(in);
  if (type == kList) return read_list(in, key);
  const auto number = read_number(in, type);
  if (!number) fail(key, concat("has the unknown type ", type));
  if (type == kBool) return *number != 0;
  if (type == kFloat || type == kDouble) return *number;
  // f64 is exact up to 2^53, which no size exceeds. Below 2^62, the cast to int64_t is defined.
  if (std::abs(*number) > 0x1p62) fail(key, "is out of range");
  return static_cast<int64_t>(*number);
}

GgufList GgufFile::read_list(ByteReader& in, const std::string& key) const {
  GgufList list;
  const auto type = in.number<uint32_t>();
  const auto count = in.number<uint64_t>(in.left());
  for (uint64_t i = 0; i < count; ++i) {
    if (type == kText) {
      list.texts.push_back(read_text(in));
    } else if (const auto number = read_number(in, type)) {
      list.numbers.push_back(*number);
    } else {
      fail(key, concat("is a list of the unsupported type ", type));
    }
  }
  return list;
}

void GgufFile::read_tensor(ByteReader& in) {
  GgufTensor t;
  t.name = read_text(in);
  if (t.name.size() > kMaxGgufName) fail(t.name, "the name is too long");
  const std::string entry = "tensor " + t.name;
  const auto rank = in.number<uint32_t>();
  if (rank < 1 || rank > Shape::kMaxDims)
    fail(entry, concat("has ", rank, " dimensions; expected 1 to ", Shape::kMaxDims));
  int64_t count = 1;
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = in.number<uint64_t>();
    if (size > 1ull << 40 || __builtin_mul_overflow(count, static_cast<int64_t>(size), &count))
      fail(entry, "is too large");
    t.sizes.insert(t.sizes.begin(), static_cast<int64_t>(size));
  }
  t.type_number = in.number<uint32_t>();
  t.type = ggml_type(t.type_number);
  if (t.type && t.sizes.back() % t.type->block != 0)
    fail(entry, concat("is ", t.str(), "; expected rows of whole blocks of ", t.type->block));
  offsets_.push_back(in.number<uint64_t>());
  if (!by_name_.emplace(t.name, tensors_.size()).second) fail(entry, "occurs twice");
  tensors_.push_back(std::move(t));
}

void GgufFile::place_tensors(std::string_view bytes, size_t begin) {
  const size_t room = bytes.size() - std::min(begin, bytes.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    GgufTensor& t = tensors_[i];
    if (!t.type) continue;
    uint64_t size = t.type->block_bytes;
    const auto blocks =
        static_cast<uint64_t>(Shape(std::span<const int64_t>(t.sizes)).count() / t.type->block);
    if (__builtin_mul_overflow(size, blocks, &size) || offsets_[i] > room ||
        size > room - offsets_[i]) {
      fail("tensor " + t.name,
           concat("is ", t.str(), " from byte ", offsets_[i], " of the data on, which has ", room));
    }
    t.data = bytes.substr(begin + offsets_[i], size);
  }
}

const GgufTensor* GgufFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

const GgufTensor& GgufFile::need(const std::string& name) const {
  const GgufTensor* tensor = find(name);
  if (tensor == nullptr) fail("tensor " + name, "is missing");
  return *tensor;
}

template <typename T>
const T& GgufFile::value(const std::string& key, const char* expected) const {
  const auto found = values_.find(key);
  if (found == values_.end()) fail(key, "is missing");
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) fail(key, concat("expected ", expected));
  return *value;
}

std::string_view GgufFile::text(const std::string& key) const {
  return value<std::string_view>(key, "a text");
}
std::string_view GgufFile::text(const std::string& key, std::string_view absent) const {
  return has(key) ? text(key) : absent;
}
int64_t GgufFile::integer(const std::string& key) const {
  return value<int64_t>(key, "a whole number");
}
int64_t GgufFile::integer(const std::string& key, int64_t absent) const {
  return has(key) ? integer(key) : absent;
}
double GgufFile::number(const std::string& key) const {
  const auto found = values_.find(key);
  if (found != values_.end() && std::holds_alternative<int64_t>(found->second))
    return static_cast<double>(std::get<int64_t>(found->second));
  return value<double>(key, "a number");
}
double GgufFile::number(const std::string& key, double absent) const {
  return has(key) ? number(key) : absent;
}
bool GgufFile::flag(const std::string& key, bool absent) const {
  return has(key) ? value<bool>(key, "true or false") : absent;
}
const GgufList& GgufFile::list(const std::string& key) const {
  return value<GgufList>(key, "a list");
}

}  // namespace syrinx
