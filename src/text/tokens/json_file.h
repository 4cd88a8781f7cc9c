// The JSON of tokenizers, which is too large for Config: read by simdjson, with getters that check
// types. For loaders of tokenizers only. Not thread-safe.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/file.h"

namespace syrinx {

/// A JSON file, at most kMaxBytes long. Its getters throw faults that name the path and the entry.
class JsonFile {
 public:
  using element = simdjson::dom::element;
  static constexpr size_t kMaxBytes = 256 << 20;
  static constexpr size_t kMaxDepth = 64;
  static constexpr int64_t kMaxId = (1 << 22) - 1;  ///< the limit of ids, because ids index a table

  explicit JsonFile(const std::string& path) : JsonFile(read_file(path, kMaxBytes), path) {}
  /// `path` is a name for messages.
  JsonFile(std::string_view json, const std::string& path) : path_(path) {
    const simdjson::padded_string text(json);
    auto error = parser_.allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
    if (!error) error = parser_.parse(text).get(root_);
    if (error) load_fault(path, "", concat("invalid JSON: ", simdjson::error_message(error)));
  }

  const std::string& path() const { return path_; }
  element root() const { return root_; }

  [[noreturn]] void fail(const std::string& entry, const std::string& what) const {
    load_fault(path_, entry, what);
  }

  /// Returns whether a field exists and is not null.
  static bool has(element object, std::string_view key) {
    element value;
    return !object[key].get(value) && !value.is_null();
  }
  element get(element object, std::string_view key, const std::string& scope) const {
    element value;
    if (object[key].get(value)) fail(scope + std::string(key), "is missing");
    return value;
  }
  simdjson::dom::array list(element object, std::string_view key, const std::string& scope) const {
    simdjson::dom::array value;
    if (get(object, key, scope).get(value)) fail(scope + std::string(key), "expected a list");
    return value;
  }
  simdjson::dom::object map(element object, std::string_view key, const std::string& scope) const {
    simdjson::dom::object value;
    if (get(object, key, scope).get(value)) fail(scope + std::string(key), "expected an object");
    return value;
  }
  std::string_view text(element object, std::string_view key, const std::string& scope) const {
    std::string_view value;
    if (get(object, key, scope).get(value)) fail(scope + std::string(key), "expected a string");
    return value;
  }
  bool flag(element object, std::string_view key, bool absent, const std::string& scope) const {
    if (!has(object, key)) return absent;
    bool value = false;
    if (object[key].get(value)) fail(scope + std::string(key), "expected true or false");
    return value;
  }
  int64_t count(element object, std::string_view key, const std::string& scope) const {
    int64_t number = 0;
    if (get(object, key, scope).get(number) || number < 0)
      fail(scope + std::string(key), "expected a number of at least 0");
    return number;
  }
  int32_t id(element value, const std::string& entry) const {
    int64_t number = 0;
    if (value.get(number) || number < 0 || number > kMaxId)
      fail(entry, concat("expected an id in [0, ", kMaxId, "]"));
    return static_cast<int32_t>(number);
  }

 private:
  std::string path_;
  simdjson::dom::parser parser_;
  element root_;
};

}  // namespace syrinx
