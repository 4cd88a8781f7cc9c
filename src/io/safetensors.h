// Reading and writing of safetensors checkpoints, one file or many with an index. Files are mapped,
// never copied, and nothing in them is trusted: sizes, offsets and names are checked when opened,
// and every fault is a LoadError naming file, tensor, expected and got.
// Const after open(); may be read by many threads.
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

/// One tensor of a file. Types that Syrinx does not compute with (F64, BOOL, F8_...) have no dtype
/// and more than five sizes no shape: they may lie in a file, but reading them is a fault.
struct SafetensorsEntry {
  std::string name;
  std::string type_name;       ///< as written: "BF16"
  std::optional<DType> dtype;  ///< empty: not supported
  std::vector<int64_t> sizes;
  uint64_t begin = 0, end = 0;  ///< bytes in the data part, begin <= end <= its size

  /// "bf16 [4, 2]", for messages.
  std::string str() const;
};

/// One file. Its views live as long as this object.
class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeader = 100'000'000;  ///< bytes; the limit of the format
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_->path(); }
  /// In the order of their data.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The memory of an entry; read-only although View cannot say so.
  View view(const SafetensorsEntry& entry) const;

 private:
  void parse_header(std::string_view header, uint64_t data_size);
  void check_overlap() const;
  std::shared_ptr<const MappedFile> file_;
  uint64_t data_begin_ = 0;
  std::vector<SafetensorsEntry> entries_;
  std::unordered_map<std::string, size_t> by_name_;
  std::map<std::string, std::string> metadata_;
  // Tensors at addresses that do not suit their type, copied when first asked for.
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Tensor> realigned_;
};

/// A checkpoint: one file, or the files of an index. Its views live as long as this object.
class Safetensors {
 public:
  /// `path`: a .safetensors file, a .safetensors.index.json, or a directory that holds
  /// model.safetensors or model.safetensors.index.json.
  explicit Safetensors(const std::string& path);

  /// For messages: the path of the file or of the index.
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;
  /// Null when there is no such tensor.
  const SafetensorsEntry* find(const std::string& name) const;
  /// The file that holds a tensor; path() when none does.
  const std::string& file_of(const std::string& name) const;
  View view(const std::string& name) const;
  /// Bytes of all tensors.
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

/// Writes one file; tensors go to disk as they are added. Under its name it appears at finish().
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(const std::string& path);
  void add(const std::string& name, const View& tensor);
  /// `metadata` goes into the header as strings.
  void finish(const std::map<std::string, std::string>& metadata = {});

 private:
  std::string path_;
  NewFile data_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace syrinx
