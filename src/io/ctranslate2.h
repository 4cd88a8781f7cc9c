// Reading of CTranslate2's model.bin: a list of variables, each a name, sizes, a type and numbers,
// and aliases of names. The file is mapped and nothing in it is trusted: counts, sizes and names
// are checked, and every fault is a LoadError naming file, variable, expected and got.
// Const after construction; any thread.
// Format: ctranslate2:python/ctranslate2/specs/model_spec.py, Model.save (versions 4 to 6).
//   u32 version | text spec | u32 revision | u32 count | count x variable | u32 count | aliases
//   variable: text name | u8 rank | rank x u32 size | u8 type | u32 bytes | numbers
//   alias: text alias | text name; a text is u16 length, bytes, of which the last is zero
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/file.h"
#include "tensor/tensor.h"

namespace syrinx {

class ByteReader;

/// One variable of the file.
struct Ct2Variable {
  std::string name;
  std::optional<DType> dtype;  ///< empty: a type that Syrinx does not compute with
  std::vector<int64_t> sizes;  ///< outermost first; none: one number
  std::string_view data;       ///< in the file; at any address

  /// "f16 [4, 2]", for messages.
  std::string str() const;
};

/// One mapped file; tensors are views into it.
class Ct2File {
 public:
  explicit Ct2File(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// What the model is: "WhisperSpec".
  const std::string& spec() const { return spec_; }
  /// In the order of the file, without aliases.
  const std::vector<Ct2Variable>& variables() const { return variables_; }
  /// By name or alias; null when there is no such variable.
  const Ct2Variable* find(const std::string& name) const;
  /// A variable that must be there, with `dims` sizes.
  const Ct2Variable& need(const std::string& name, size_t rank) const;
  /// A variable that is one whole number of i8, i16 or i32.
  int64_t number(const std::string& name) const;
  /// Throws LoadError: path, variable, what.
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  void read_variable(ByteReader& in);
  void read_alias(ByteReader& in);

  std::shared_ptr<const MappedFile> file_;
  std::string spec_;
  std::vector<Ct2Variable> variables_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace syrinx
