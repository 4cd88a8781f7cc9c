#include "io/safetensors.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>

#include "base/error.h"

namespace syrinx {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little-endian");

constexpr size_t kMaxTensorSizes = 16;  // most dimensions; no layer's tensor has more
constexpr size_t kMaxJsonDepth = 16;    // a header nests three levels deep
constexpr size_t kMaxIndexBytes = 64 << 20;

/// A type of the format. `dtype` is set if Syrinx can read the type. Data need not be aligned.
struct TypeRow {
  std::string_view name;
  size_t size;
  std::optional<DType> dtype;
};
constexpr std::array<TypeRow, 15> kTypes = {{
    {"F32", 4, DType::kF32},
    {"F16", 2, DType::kF16},
    {"BF16", 2, DType::kBF16},
    {"I64", 8, DType::kI64},
    {"I32", 4, DType::kI32},
    {"I8", 1, DType::kI8},
    {"U8", 1, DType::kU8},
    {"F64", 8, {}},
    {"U64", 8, {}},
    {"U32", 4, {}},
    {"I16", 2, {}},
    {"U16", 2, {}},
    {"BOOL", 1, {}},
    {"F8_E4M3", 1, {}},
    {"F8_E5M2", 1, {}},
}};

const TypeRow* find_type(std::string_view name) {
  const auto* row = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const TypeRow& each) { return each.name == name; });
  return row == kTypes.end() ? nullptr : row;
}

std::string sizes_text(const std::vector<int64_t>& sizes) {
  std::string text = "[";
  for (const int64_t size : sizes) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

/// Returns the bytes of `sizes` elements of `unit` bytes; empty if they exceed 63 bits.
std::optional<uint64_t> bytes_of(const std::vector<int64_t>& sizes, size_t unit) {
  int64_t total = static_cast<int64_t>(unit);
  for (const int64_t size : sizes)
    if (__builtin_mul_overflow(total, size, &total)) return {};
  return static_cast<uint64_t>(total);
}

/// Parses one document; the result refers to memory of `parser`.
simdjson::dom::element parse_json(simdjson::dom::parser& parser, std::string_view text,
                                  const std::string& path) {
  const simdjson::padded_string padded(text);
  simdjson::dom::element root;
  auto error = parser.allocate(std::max<size_t>(text.size(), 64), kMaxJsonDepth);
  if (!error) error = parser.parse(padded).get(root);
  if (error) load_fault(path, "", concat("invalid JSON: ", simdjson::error_message(error)));
  return root;
}

/// Returns `text` as a JSON string, quotes included.
std::string json_string(const std::string& text) {
  constexpr const char* kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + "\"";
}

/// Reads the entry of one tensor: {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}.
class EntryReader {
 public:
  EntryReader(const std::string& path, std::string_view name) : path_(path) {
    entry_.name = std::string(name);
  }

  SafetensorsEntry read(simdjson::dom::element value, uint64_t data_size) {
    simdjson::dom::object fields;
    if (value.get(fields)) fail("expected an object");
    for (const auto& field : fields) {
      if (field.key == "dtype")
        read_type(field.value);
      else if (field.key == "shape")
        read_sizes(field.value);
      else if (field.key == "data_offsets")
        read_offsets(field.value);
      else
        fail(concat("unknown field ", shown(field.key)));
    }
    if (!(have_type_ && have_sizes_ && have_offsets_))
      fail("expected dtype, shape and data_offsets");
    check(data_size);
    return std::move(entry_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    load_fault(path_, "tensor " + shown(entry_.name), what);
  }

  void once(bool& flag, const char* field) const {
    if (flag) fail(concat(field, " is given twice"));
    flag = true;
  }

  void read_type(simdjson::dom::element value) {
    once(have_type_, "dtype");
    std::string_view text;
    if (value.get(text)) fail("dtype: expected a string");
    entry_.type_name = std::string(text);
  }

  void read_sizes(simdjson::dom::element value) {
    once(have_sizes_, "shape");
    simdjson::dom::array array;
    if (value.get(array)) fail("shape: expected a list");
    for (const auto item : array) {
      int64_t size = 0;
      if (item.get(size) || size < 0) fail("shape: expected numbers of 0 or more");
      if (entry_.sizes.size() == kMaxTensorSizes)
        fail(concat("shape: more than ", kMaxTensorSizes, " dimensions"));
      entry_.sizes.push_back(size);
    }
  }

  void read_offsets(simdjson::dom::element value) {
    once(have_offsets_, "data_offsets");
    simdjson::dom::array array;
    if (value.get(array) || array.size() != 2) fail("data_offsets: expected two numbers");
    if (array.at(0).get(entry_.begin) || array.at(1).get(entry_.end))
      fail("data_offsets: expected two numbers of 0 or more");
  }

  void check(uint64_t data_size) {
    if (entry_.begin > entry_.end || entry_.end > data_size)
      fail(concat(
          "data_offsets: expected a range in [0, ", data_size, "], got [", entry_.begin, ", ",
          entry_.end, "]",
          entry_.end > data_size ? ": the file is cut short, or is not this checkpoint's" : ""));
    const TypeRow* type = find_type(entry_.type_name);
    if (type) entry_.dtype = type->dtype;
    const auto want = bytes_of(entry_.sizes, type ? type->size : 1);
    if (!want) fail(concat("shape ", sizes_text(entry_.sizes), ": too large"));
    if (type && *want != entry_.end - entry_.begin)
      fail(concat("expected ", *want, " bytes for ", entry_.str(), ", got ",
                  entry_.end - entry_.begin));
  }

  const std::string& path_;
  SafetensorsEntry entry_;
  bool have_type_ = false, have_sizes_ = false, have_offsets_ = false;
};

}  // namespace

std::string SafetensorsEntry::str() const {
  return (dtype ? dtype_name(*dtype) : shown(type_name, 24)) + (" " + sizes_text(sizes));
}

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(MappedFile::open(path)) {
  const auto bytes = file_->bytes();
  uint64_t header = 0;
  if (bytes.size() < sizeof header)
    load_fault(path, "", concat("expected a safetensors file, got ", bytes.size(), " bytes"));
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header > kMaxHeader || header > bytes.size() - sizeof header)
    load_fault(path, "header",
               concat("expected at most ", std::min<uint64_t>(kMaxHeader, bytes.size() - 8),
                      " bytes, got ", header, " (truncated, or not a safetensors file)"));
  data_begin_ = sizeof header + header;
  parse_header({reinterpret_cast<const char*>(bytes.data()) + sizeof header, header},
               bytes.size() - data_begin_);
  check_overlap();
}

void SafetensorsFile::parse_header(std::string_view header, uint64_t data_size) {
  simdjson::dom::parser parser;
  simdjson::dom::object tensors;
  if (parse_json(parser, header, path()).get(tensors))
    load_fault(path(), "header", "expected an object");
  std::set<std::string> seen;
  for (const auto& [name, value] : tensors) {
    if (!seen.emplace(name).second)
      load_fault(path(), "tensor " + shown(name), "is in the header twice");
    if (name != "__metadata__") {
      entries_.push_back(EntryReader(path(), name).read(value, data_size));
      continue;
    }
    simdjson::dom::object pairs;
    if (value.get(pairs)) load_fault(path(), "__metadata__", "expected an object");
    for (const auto& pair : pairs) {
      std::string_view text;
      if (pair.value.get(text)) load_fault(path(), "__metadata__", "expected strings");
      metadata_.emplace(pair.key, text);
    }
  }
  std::sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  for (size_t i = 0; i < entries_.size(); ++i) by_name_.emplace(entries_[i].name, i);
}

void SafetensorsFile::check_overlap() const {
  uint64_t end = 0;
  const SafetensorsEntry* before = nullptr;
  for (const auto& entry : entries_) {
    if (entry.begin == entry.end) continue;
    if (entry.begin < end)
      load_fault(path(), "tensor " + shown(entry.name),
                 concat("its data overlaps that of ", shown(before->name)));
    end = entry.end, before = &entry;
  }
}

const SafetensorsEntry* SafetensorsFile::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &entries_[found->second];
}

View SafetensorsFile::view(const SafetensorsEntry& entry) const {
  if (!entry.dtype || entry.sizes.size() > Shape::kMaxDims)
    load_fault(path(), "tensor " + shown(entry.name),
               concat("expected f32, f16, bf16, i64, i32, i8 or u8 with at most ", Shape::kMaxDims,
                      " dimensions, got ", entry.str()));
  const std::byte* data = file_->bytes().data() + data_begin_ + entry.begin;
  const Shape shape{std::span<const int64_t>(entry.sizes)};
  if (reinterpret_cast<uintptr_t>(data) % dtype_size(*entry.dtype) == 0)
    return View{const_cast<std::byte*>(data), *entry.dtype, shape, Device::kCpu};
  const std::scoped_lock lock(mutex_);
  Tensor& copy = realigned_[entry.name];
  if (copy.empty()) {
    copy = Tensor(shape, *entry.dtype);
    std::memcpy(copy.view().data, data, entry.end - entry.begin);
  }
  return copy;
}

Safetensors::Safetensors(const std::string& path) : path_(path) {
  if (is_directory(path)) {
    path_ = join_path(path, "model.safetensors");
    if (!is_file(path_)) path_ = join_path(path, "model.safetensors.index.json");
    if (!is_file(path_))
      load_fault(path, "", "expected model.safetensors or model.safetensors.index.json in it");
  }
  if (path_.ends_with(".json")) {
    open_index();
  } else {
    add_file(path_);
  }
}

void Safetensors::add_file(const std::string& path) {
  files_.push_back(std::make_unique<SafetensorsFile>(path));
  const SafetensorsFile& file = *files_.back();
  for (const auto& entry : file.entries()) {
    const auto [place, fresh] = places_.emplace(entry.name, Place{&file, &entry});
    if (!fresh)
      load_fault(path_, "tensor " + shown(entry.name),
                 concat("is in both ", place->second.file->path(), " and ", path));
  }
}

void Safetensors::open_index() {
  simdjson::dom::parser parser;
  const std::string text = read_file(path_, kMaxIndexBytes);
  simdjson::dom::object map;
  if (parse_json(parser, text, path_)["weight_map"].get(map))
    load_fault(path_, "weight_map", "expected an object");
  std::map<std::string, std::string> wanted;
  std::set<std::string> names;
  for (const auto& [tensor, value] : map) {
    const std::string entry = "weight_map." + shown(tensor);
    std::string_view name;
    if (value.get(name)) load_fault(path_, entry, "expected a file name");
    if (name.empty() || name[0] == '.' || name.find_first_of("/\\") != name.npos ||
        name.find('\0') != name.npos || !name.ends_with(".safetensors"))
      load_fault(path_, entry,
                 concat("expected a .safetensors file in the same directory, got ", shown(name)));
    const auto [known, fresh] = wanted.emplace(tensor, name);
    if (!fresh && known->second != name)
      load_fault(path_, entry, concat("is given as ", shown(known->second), " and ", shown(name)));
    names.emplace(name);
  }
  const std::string directory = path_.substr(0, path_.find_last_of('/') + 1);
  for (const auto& name : names) {
    if (!is_file(directory + name))
      load_fault(path_, "weight_map", concat("file ", shown(name), " is missing"));
    add_file(directory + name);
  }
  for (const auto& [tensor, name] : wanted) {
    const auto place = places_.find(tensor);
    if (place == places_.end() || place->second.file->path() != directory + name)
      load_fault(path_, "weight_map." + shown(tensor),
                 concat("expected it in ", name, ", got ",
                        place == places_.end() ? "no such tensor" : place->second.file->path()));
  }
}

std::vector<std::string> Safetensors::names() const {
  std::vector<std::string> names;
  for (const auto& file : files_)
    for (const auto& entry : file->entries()) names.push_back(entry.name);
  return names;
}

const SafetensorsEntry* Safetensors::find(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : place->second.entry;
}

const std::string& Safetensors::file_of(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? path_ : place->second.file->path();
}

View Safetensors::view(const std::string& name) const {
  const auto place = places_.find(name);
  if (place == places_.end()) load_fault(path_, "tensor " + shown(name), "is missing");
  return place->second.file->view(*place->second.entry);
}

uint64_t Safetensors::bytes() const {
  uint64_t total = 0;
  for (const auto& [name, place] : places_) total += place.entry->end - place.entry->begin;
  return total;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path)
    : path_(path), data_(path + ".data") {}

void SafetensorsWriter::add(const std::string& name, const View& tensor) {
  for (const auto& known : entries_)
    SYRINX_CHECK(known.name != name, "tensor ", name, " is written twice");
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = tensor.dtype;
  for (const auto& type : kTypes)
    if (type.dtype == tensor.dtype) entry.type_name = type.name;
  for (int i = 0; i < tensor.shape.dims(); ++i) entry.sizes.push_back(tensor.shape[i]);
  entry.begin = data_.size();
  data_.append(tensor.data, tensor.bytes());
  entry.end = data_.size();
  entries_.push_back(std::move(entry));
}

void SafetensorsWriter::finish(const std::map<std::string, std::string>& metadata) {
  // Writes larger types first, like the format's own writer, so that every tensor is aligned
  // without gaps.
  std::stable_sort(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
    return dtype_size(*a.dtype) > dtype_size(*b.dtype);
  });
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata) {
      if (header.back() != '{') header += ',';
      header += json_string(key) + ":" + json_string(value);
    }
    header += "}";
  }
  uint64_t at = 0;
  for (const auto& entry : entries_) {
    const uint64_t end = at + (entry.end - entry.begin);
    if (header.size() > 1) header += ',';
    header +=
        concat(json_string(entry.name), ":{\"dtype\":\"", entry.type_name,
               "\",\"shape\":", sizes_text(entry.sizes), ",\"data_offsets\":[", at, ",", end, "]}");
    at = end;
  }
  header += "}";
  while (header.size() % 8) header += ' ';
  NewFile whole(path_);
  const uint64_t size = header.size();
  whole.append(&size, sizeof size);
  whole.append(header.data(), header.size());
  for (const auto& entry : entries_) whole.append_part_of(data_, entry.begin, entry.end);
  whole.commit();
}

}  // namespace syrinx
