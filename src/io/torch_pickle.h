// Reads PyTorch checkpoints (.bin, .pt, .pth): a zip archive of raw tensors and one pickle with
// their names and shapes. The pickle is read as data: containers, numbers, text and a short list of
// known constructors of tensors. Objects of classes that the caller names are read as their
// attributes. Any other global is a fault, and nothing is executed. Nothing in the file is trusted:
// sizes, offsets and counts are checked before use. Every fault is a LoadError with file, entry,
// expected and actual value. Const after construction; may be read by many threads. Formats:
// torch:torch/serialization.py (since 1.6; older files are not zip archives and are refused),
// python:Lib/pickletools.py, PKWARE's APPNOTE for zip.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/file.h"
#include "tensor/tensor.h"

namespace syrinx {

/// A tensor of the file. `dtype` is empty if Syrinx cannot compute with the type. A file may
/// contain such tensors, but reading them is a fault.
struct TorchTensor {
  std::string name;              ///< the dict keys to it, joined by dots: "state_dict.conv.weight"
  std::string type_name;         ///< type name in the file, e.g. "FloatStorage"
  std::optional<DType> dtype;    ///< empty if not supported
  std::vector<int64_t> sizes;    ///< outermost first
  std::vector<int64_t> strides;  ///< in elements, one per size
  uint64_t begin = 0;            ///< offset of the first element in the file, in bytes

  bool contiguous() const;
  int64_t count() const;
  /// Returns text for messages, e.g. "f32 [4, 2]".
  std::string str() const;
};

/// One mapped checkpoint. Its tensors are views into the file.
class TorchPickle {
 public:
  /// `records`: classes, as "module name", whose objects are read as dicts of their attributes.
  explicit TorchPickle(const std::string& path, std::span<const std::string_view> records = {});
  explicit TorchPickle(std::shared_ptr<const MappedFile> file,
                       std::span<const std::string_view> records = {});

  const std::string& path() const { return file_->path(); }
  /// Returns the tensors in the order of the pickle. Two names may share memory.
  const std::vector<TorchTensor>& tensors() const { return tensors_; }
  /// Returns the integers in the pickle, by names like those of tensors: "dims.n_mels".
  const std::map<std::string, int64_t>& numbers() const { return numbers_; }
  /// Finds a tensor; null if the file lacks it.
  const TorchTensor* find(const std::string& name) const;
  /// Returns the elements, contiguous; valid as long as this object. The memory is read-only,
  /// although View does not express this.
  View view(const TorchTensor& tensor) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<TorchTensor> tensors_;
  std::map<std::string, int64_t> numbers_;
  std::unordered_map<std::string, size_t> by_name_;
  // Copies of tensors that are not contiguous or not aligned in the file; made on first use.
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Tensor> copies_;
};

}  // namespace syrinx
