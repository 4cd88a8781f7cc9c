// Reading of GGUF files, as llama.cpp keeps models: typed metadata by key, and tensors in one of
// ggml's types. The file is mapped and nothing in it is trusted: counts, sizes, names and offsets
// are checked, and every fault is a LoadError naming file, entry, expected and got.
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
  const GgmlType* type = nullptr;  ///< null: unknown or unsupported
  uint32_t type_number = 0;
  std::vector<int64_t> sizes;  ///< outermost first; the innermost is made of whole blocks
  std::string_view data;       ///< in the file; empty without a type

  /// "Q4_K [896, 4864]", for messages.
  std::string str() const;
};

/// A list of the metadata.
struct GgufList {
  std::vector<std::string_view> texts;  ///< in the file
  std::vector<double> numbers;          ///< of every type of number
};
using GgufValue = std::variant<bool, int64_t, double, std::string_view, GgufList>;

/// One mapped file; tensors are views into it.
class GgufFile {
 public:
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// Null when there is no such tensor.
  const GgufTensor* find(const std::string& name) const;
  const GgufTensor& need(const std::string& name) const;

  // Metadata. A value of another type than asked for is a fault, and so is one that is missing,
  // unless `absent` says what to take then.
  bool has(const std::string& key) const { return values_.contains(key); }
  std::string_view text(const std::string& key) const;
  std::string_view text(const std::string& key, std::string_view absent) const;
  int64_t integer(const std::string& key) const;
  int64_t integer(const std::string& key, int64_t absent) const;
  double number(const std::string& key) const;
  double number(const std::string& key, double absent) const;
  bool flag(const std::string& key, bool absent) const;
  const GgufList& list(const std::string& key) const;
  /// Throws LoadError: path, entry, what.
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
  std::vector<uint64_t> offsets_;  // of the tensors' data, from where data begins
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace syrinx
