// Reads GGUF files, in which llama.cpp keeps models: typed metadata by key, and tensors in ggml's
// types. The file is mapped and nothing in it is trusted: counts, sizes, names and offsets are
// checked. Every fault is a LoadError with file, entry, expected and actual value.
// Const after construction; any thread.
// Format: ggml-org/ggml:docs/gguf.md, versions 2 and 3, little-endian.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "io/file.h"
#include "io/ggml_types.h"
#include "tensor/tensor.h"

namespace syrinx {

class ByteReader;

/// A tensor of the file.
struct GgufTensor {
  std::string name;
  const GgmlType* type = nullptr;  ///< null if the type is unknown or unsupported
  uint32_t type_number = 0;
  std::vector<int64_t> sizes;  ///< outermost first; the innermost is a multiple of a block
  std::string_view data;       ///< bytes in the mapped file; empty if `type` is null

  /// Returns text for messages, e.g. "Q4_K [896, 4864]".
  std::string str() const;
};

/// A list in the metadata.
struct GgufList {
  std::vector<std::string_view> texts;  ///< views into the mapped file
  std::vector<double> numbers;          ///< numbers of any type
};
using GgufValue = std::variant<bool, int64_t, double, std::string_view, GgufList>;

/// One mapped file. Its tensors are views into the file.
class GgufFile {
 public:
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// Finds a tensor; null if the file lacks it.
  const GgufTensor* find(const std::string& name) const;
  const GgufTensor& need(const std::string& name) const;

  // Metadata. A value of another type than requested is a fault. A missing value is a fault, too,
  // unless the caller passes `absent`, which is then returned.
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string_view text(const std::string& key) const;
  std::string_view text(const std::string& key, std::string_view absent) const;
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t absent) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double absent) const;
  bool flag(const std::string& key, bool absent) const;
  const GgufList& list(const std::string& key) const;
  /// Throws LoadError with the path, the entry and `what`.
  [[noreturn]] void fail(const std::string& entry, const std::string& what) const;

 private:
  template <typename T>
  const T& value(const std::string& key, const char* expected) const;
  std::string_view read_text(ByteReader& in) const;
  GgufValue read_value(ByteReader& in, uint32_t type, const std::string& key) const;
  GgufList read_list(ByteReader& in, const std::string& key) const;
  void read_tensor(ByteReader& in);
  void place_tensors(std::string_view bytes, size_t begin);

  std::shared_ptr<const MappedFile> file_;
  std::unordered_map<std::string, GgufValue> values_;
  std::vector<GgufTensor> tensors_;
  std::vector<uint64_t> offsets_;  // offsets of the tensors' data from the beginning of all data
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace syrinx
