// Reading of PyTorch checkpoints (.bin, .pt, .pth): a zip archive of raw tensors and one pickle
// that has their names and shapes. The pickle is read as data: containers, numbers, text
// and a short list of known constructors of tensors; any other global is a fault, and nothing is
// ever run. Nothing in the file is trusted: sizes, offsets and counts are checked before use, and
// every fault is a LoadError naming file, entry, expected and got. Const after construction; may be
// read by many threads. Formats: torch:torch/serialization.py (since 1.6; older files are not zip
// archives and are refused), python:Lib/pickletools.py, PKWARE's APPNOTE for zip.
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

/// A tensor of the file. Types that Syrinx does not compute with have no dtype; they may lie in a
/// file, but reading them is a fault.
struct TorchTensor {
  std::string name;            ///< keys on the way to it, joined by dots: "state_dict.conv.weight"
  std::string type_name;       ///< as written: "FloatStorage"
  std::optional<DType> dtype;  ///< empty: not supported
  std::vector<int64_t> sizes;  ///< outermost first
  std::vector<int64_t> strides;  ///< in elements, as many as sizes
  uint64_t begin = 0;            ///< byte in the file of the first element

  bool contiguous() const;
  int64_t count() const;
  /// "f32 [4, 2]", for messages.
  std::string str() const;
};

/// One mapped checkpoint; tensors are views into it.
class TorchPickle {
 public:
  explicit TorchPickle(const std::string& path);
  explicit TorchPickle(std::shared_ptr<const MappedFile> file);

  const std::string& path() const { return file_->path(); }
  /// In the order of the pickle. Two names may share memory.
  const std::vector<TorchTensor>& tensors() const { return tensors_; }
  /// Whole numbers that stand beside the tensors, by their names: "dims.n_mels".
  const std::map<std::string, int64_t>& numbers() const { return numbers_; }
  /// Null when there is no such tensor.
  const TorchTensor* find(const std::string& name) const;
  /// The elements, contiguous; valid while this object lives. Read-only although View cannot say
  /// so.
  View view(const TorchTensor& tensor) const;

 private:
  std::shared_ptr<const MappedFile> file_;
  std::vector<TorchTensor> tensors_;
  std::map<std::string, int64_t> numbers_;
  std::unordered_map<std::string, size_t> by_name_;
  // Tensors that lie in the file in another order or at an odd address, copied when first asked
  // for.
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Tensor> copies_;
};

}  // namespace syrinx
