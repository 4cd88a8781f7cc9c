#include "io/ctranslate2.h"

#include <cstring>

#include "base/bytes.h"

namespace syrinx {
namespace {

constexpr uint32_t kOldest = 4, kNewest = 6;  // supported versions of the format
constexpr uint32_t kMaxVariables = 1 << 16;
constexpr size_t kMaxRank = 8;
constexpr uint16_t kMaxCt2Name = 1024;

struct Ct2Type {
  size_t size = 0;  // bytes per number
  std::optional<DType> dtype = {};
};

/// The index is the number of the type in the file.
constexpr Ct2Type kCt2Types[] = {{4, DType::kF32}, {1, DType::kI8},  {2},
                                 {4, DType::kI32}, {2, DType::kF16}, {2, DType::kBF16}};

std::string read_text(ByteReader& in, const std::string& path) {
  const auto size = in.number<uint16_t>(kMaxCt2Name);
  const std::string_view text = in.bytes(size);
  if (text.empty() || text.find('\0') != text.size() - 1) {
    load_fault(path, "", concat("a name of ", size, " bytes must end with its only zero byte"));
  }
  return std::string(text.substr(0, text.size() - 1));
}

}  // namespace

std::string Ct2Variable::str() const {
  std::string text = dtype ? dtype_name(*dtype) : "i16";
  text += " [";
  for (const int64_t size : sizes) text += (text.back() == '[' ? "" : ", ") + std::to_string(size);
  return text + "]";
}

void Ct2File::fail(const std::string& name, const std::string& what) const {
  load_fault(file_->path(), name.empty() ? "" : "variable " + shown(name), what);
}

Ct2File::Ct2File(const std::string& path) : file_(MappedFile::open(path)) {
  const auto bytes = file_->bytes();
  ByteReader in({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.c_str());
  const auto version = in.number<uint32_t>();
  if (version < kOldest || version > kNewest) {
    fail("", concat("expected a CTranslate2 model of version ", kOldest, " to ", kNewest,
                    ", got version ", version));
  }
  spec_ = read_text(in, path);
  in.number<uint32_t>();  // ignores the revision, as variables are checked by name
  const auto count = in.number<uint32_t>();
  if (count > kMaxVariables) fail("", concat("has ", count, " variables"));
  for (uint32_t i = 0; i < count; ++i) read_variable(in);
  const auto aliases = in.number<uint32_t>();
  if (aliases > kMaxVariables) fail("", concat("has ", aliases, " aliases"));
  for (uint32_t i = 0; i < aliases; ++i) read_alias(in);
  in.end();
}

void Ct2File::read_variable(ByteReader& in) {
  Ct2Variable v;
  v.name = read_text(in, path());
  const auto rank = in.number<uint8_t>();
  if (rank > kMaxRank)
    fail(v.name,
         concat("has ", int{rank}, " dimensions; at most ", int{kMaxRank}, " are supported"));
  uint64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    v.sizes.push_back(in.number<uint32_t>());
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(v.sizes.back()), &count)) {
      fail(v.name, "is too large");
    }
  }
  const auto type = in.number<uint8_t>();
  if (type >= std::size(kCt2Types)) fail(v.name, concat("has the unknown type ", int{type}));
  v.dtype = kCt2Types[type].dtype;
  const auto size = in.number<uint32_t>();
  if (count > size || count * kCt2Types[type].size != size) {
    fail(v.name, concat("is ", v.str(), ", but has ", size, " bytes"));
  }
  v.data = in.bytes(size);
  if (!by_name_.emplace(v.name, variables_.size()).second) fail(v.name, "occurs twice");
  variables_.push_back(std::move(v));
}

void Ct2File::read_alias(ByteReader& in) {
  const std::string alias = read_text(in, path()), name = read_text(in, path());
  const auto found = by_name_.find(name);
  if (found == by_name_.end())
    fail(alias, "is an alias of " + shown(name) + ", which does not exist");
  if (!by_name_.emplace(alias, found->second).second) fail(alias, "occurs twice");
}

const Ct2Variable* Ct2File::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &variables_[found->second];
}

const Ct2Variable& Ct2File::need(const std::string& name, size_t rank) const {
  const Ct2Variable* v = find(name);
  if (v == nullptr) fail(name, "is missing");
  if (v->sizes.size() != rank) fail(name, concat("expected ", rank, " dimensions, got ", v->str()));
  return *v;
}

int64_t Ct2File::number(const std::string& name) const {
  const Ct2Variable& v = need(name, 0);
  int64_t out = 0;
  if (v.data.size() > sizeof out || v.dtype == DType::kF32 || v.dtype == DType::kF16 ||
      v.dtype == DType::kBF16) {
    fail(name, "expected a whole number, got " + v.str());
  }
  std::memcpy(&out, v.data.data(), v.data.size());
  const int unused_bits = 64 - 8 * static_cast<int>(v.data.size());
  return static_cast<int64_t>(static_cast<uint64_t>(out) << unused_bits) >> unused_bits;
}

}  // namespace syrinx
