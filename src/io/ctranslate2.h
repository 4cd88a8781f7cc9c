// Reads CTranslate2's model.bin: a list of variables, each with a name, sizes, a type and numbers,
// and a list of aliases for names. The file is mapped and nothing in it is trusted: counts, sizes
// and names are checked. Every fault is a LoadError with file, variable, expected and actual value.
// Const after construction; any thread.
// Format: ctranslate2:python/ctranslate2/specs/model_spec.py, Model.save (versions 4 to 6).
//   u32 version | text spec | u32 revision | u32 count | count x variable | u32 count | aliases
//   variable: text name | u8 rank | rank x u32 size | u8 type | u32 bytes | numbers
//   alias: text alias | text name; a text is u16 length, then bytes, the last one zero
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
  std::optional<DType> dtype;  ///< empty if Syrinx cannot compute with the type
  std::vector<int64_t> sizes;  ///< outermost first; empty for a single number
  std::string_view data;       ///< bytes in the mapped file, at any address

  /// Returns text for messages, e.g. "f16 [4, 2]".
  std::string str() const;
};

/// One mapped file. Its tensors are views into the file.
class Ct2File {
 public:
  explicit Ct2File(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// Returns the kind of the model, e.g. "WhisperSpec".
  const std::string& spec() const { return spec_; }
  /// Returns the variables in the order of the file, without aliases.
  const std::vector<Ct2Variable>& variables() const { return variables_; }
  /// Finds a variable by its name or an alias; null if the file lacks it.
  const Ct2Variable* find(const std::string& name) const;
  /// Returns the variable `name`. Throws LoadError if it is absent or has another rank.
  const Ct2Variable& need(const std::string& name, size_t rank) const;
  /// Returns the value of a variable that is a single integer of i8, i16 or i32.
  int64_t number(const std::string& name) const;
  /// Throws LoadError with the path, the variable and `what`.
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
