#include "model/bundle.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "base/bytes.h"

namespace syrinx {
namespace {

constexpr std::string_view kBundleMagic = "SYB\1";  // the last byte is the version
constexpr const char* kKindNames[] = {"a number", "integers", "floats"};

[[noreturn]] void bad_bundle(std::string_view name, const std::string& why) {
  throw LoadError(concat("a stream cannot be opened: '", name, "' ", why));
}

void check_count(std::string_view name, size_t got, int64_t count) {
  if (count >= 0 && static_cast<int64_t>(got) != count) {
    bad_bundle(name, concat("has ", got, " values, expected ", count));
  }
}

template <typename T>
std::vector<T> read_values(ByteReader& in) {
  const auto count = in.number<uint32_t>();
  if (count > in.left() / sizeof(T)) {
    throw LoadError(
        concat("a bundle announces ", count, " values, but has only ", in.left(), " more bytes"));
  }
  std::vector<T> values(count);
  in.array(std::span(values));
  return values;
}

}  // namespace

Bundle::Value Bundle::take(std::string_view name, size_t kind) {
  const auto found = values_.find(name);
  if (found == values_.end()) bad_bundle(name, "is missing");
  if (found->second.index() != kind) bad_bundle(name, concat("is not ", kKindNames[kind]));
  Value value = std::move(found->second);
  values_.erase(found);
  return value;
}

uint64_t Bundle::number(std::string_view name, uint64_t most) {
  const auto value = std::get<uint64_t>(take(name, 0));
  if (value > most) bad_bundle(name, concat("must be at most ", most, ", not ", value));
  return value;
}

std::vector<int32_t> Bundle::ints(std::string_view name, int64_t count) {
  auto values = std::get<std::vector<int32_t>>(take(name, 1));
  check_count(name, values.size(), count);
  return values;
}

std::vector<float> Bundle::floats(std::string_view name, int64_t count) {
  auto values = std::get<std::vector<float>>(take(name, 2));
  check_count(name, values.size(), count);
  if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
    bad_bundle(name, "contains NaN or infinity");
  }
  return values;
}

void Bundle::append_to(std::string& bytes) const {
  SYRINX_CHECK(values_.size() <= kMostEntries, "too many entries: ", values_.size());
  const size_t begin = bytes.size();
  bytes += kBundleMagic;
  append_number(bytes, static_cast<uint16_t>(values_.size()));
  for (const auto& [name, value] : values_) {
    SYRINX_CHECK(name.size() < 256, "a bundle has the long name ", name);
    append_number(bytes, static_cast<uint8_t>(name.size()));
    bytes += name;
    append_number(bytes, static_cast<uint8_t>(value.index()));
    std::visit(
        [&](const auto& v) {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, uint64_t>) {
            append_number(bytes, v);
          } else {
            append_number(bytes, static_cast<uint32_t>(v.size()));
            append_array(bytes, std::span(v));
          }
        },
        value);
  }
  SYRINX_CHECK(bytes.size() - begin <= kMostBytes, "bundle too large: ", bytes.size() - begin);
}

Bundle Bundle::parse(std::string_view bytes) {
  if (bytes.size() > kMostBytes) throw LoadError(concat("a bundle of ", bytes.size(), " bytes"));
  ByteReader in(bytes, "a bundle");
  if (in.bytes(kBundleMagic.size()) != kBundleMagic) {
    throw LoadError("a bundle has an unsupported version");
  }
  Bundle bundle;
  const auto entries = in.number<uint16_t>(kMostEntries);
  for (int i = 0; i < entries; ++i) {
    const std::string name(in.bytes(in.number<uint8_t>()));
    Value value;
    switch (in.number<uint8_t>()) {
      case 0:
        value = in.number<uint64_t>();
        break;
      case 1:
        value = read_values<int32_t>(in);
        break;
      case 2:
        value = read_values<float>(in);
        break;
      default:
        throw LoadError("a bundle: '" + name + "' has an unknown type");
    }
    if (!bundle.values_.emplace(name, std::move(value)).second) {
      throw LoadError("a bundle has the entry '" + name + "' twice");
    }
  }
  in.end();
  return bundle;
}

}  // namespace syrinx
