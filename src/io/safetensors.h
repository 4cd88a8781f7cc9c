// Reads and writes safetensors checkpoints, one file or many with an index. Files are mapped. Only
// tensors whose data is not aligned are copied. Nothing in a file is trusted: sizes, offsets and
// names are checked when it is opened. Every fault is a LoadError with file, tensor and values.
// Const after construction; may be read by many threads.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/file.h"
#include "tensor/tensor.h"

namespace syrinx {

/// One tensor of a file. `dtype` is empty if Syrinx cannot compute with the type (F64, BOOL,
/// F8_...). A file may contain such tensors, and tensors with more than five dimensions, but
/// reading them is a fault.
struct SafetensorsEntry {
  std::string name;
  std::string type_name;       ///< type name in the file, e.g. "BF16"
  std::optional<DType> dtype;  ///< empty if not supported
  std::vector<int64_t> sizes;
  uint64_t begin = 0, end = 0;  ///< offsets in the data part, begin <= end <= its size

  /// Returns text for messages, e.g. "bf16 [4, 2]".
  std::string str() const;
};

/// One file. Its views are valid as long as this object.
class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeader = 100'000'000;  ///< most header bytes, by the format
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// Returns the entries in the order of their data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Returns a view of an entry's memory. The memory is read-only; View does not express this.
  View view(const SafetensorsEntry& entry) const;

 private:
  void parse_header(std::string_view header, uint64_t data_size);
  void check_overlap() const;
  std::shared_ptr<const MappedFile> file_;
  uint64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string, size_t> by_name_;
  std::map<std::string, std::string> metadata_;
  // Copies of tensors that are not aligned for their type; made on first use.
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Tensor> realigned_;
};

/// A checkpoint: one file, or the files of an index. Its views are valid as long as this object.
class Safetensors {
 public:
  /// `path`: a .safetensors file, a .safetensors.index.json, or a directory that contains
  /// model.safetensors or model.safetensors.index.json.
  explicit Safetensors(const std::string& path);

  /// Returns the path of the file or of the index, for messages.
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;
  /// Finds a tensor; null if the checkpoint lacks it.
  const SafetensorsEntry* find(const std::string& name) const;
  /// Returns the file that contains a tensor; path() if no file does.
  const std::string& file_of(const std::string& name) const;
  View view(const std::string& name) const;
  /// Returns the bytes of all tensors.
  uint64_t bytes() const;

 private:
  struct Place {
    const SafetensorsFile* file;
    const SafetensorsEntry* entry;
  };
  void open_index();
  void add_file(const std::string& path);
  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::unordered_map<std::string, Place> places_;
};

/// Writes one file. Tensors are written to disk as they are added. finish() renames the file to its
/// path.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(const std::string& path);
  void add(const std::string& name, const View& tensor);
  /// Completes the file. `metadata` becomes the header's __metadata__.
  void finish(const std::map<std::string, std::string>& metadata = {});

 private:
  std::string path_;
  NewFile data_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace syrinx
