// For tests: layouts of published checkpoints, read from tests/parity/published, and sparse files
// that have exactly these layouts but no values.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace syrinx {

/// A tensor of a published checkpoint.
struct PublishedTensor {
  std::string type;  ///< type as in safetensors, e.g. "BF16"
  std::vector<int64_t> shape;
  std::string same;  ///< tensor whose values this tensor shares; empty: its own values

  int64_t width() const { return type == "I64" ? 8 : type == "F32" ? 4 : 2; }
  int64_t count() const;
};

/// The layout of one file, read from FILE.txt. The README in the same folder describes the format.
struct PublishedFile {
  std::map<std::string, PublishedTensor> tensors;
  nlohmann::json metadata;  ///< metadata of a safetensors file
  std::string inside;       ///< key of the tensors in a PyTorch file; may be empty
  /// bytes of the published file, and of all its tensors as the publisher states; 0: unknown
  uint64_t file_bytes = 0, stated_data = 0;
  uint64_t about = 0, give = 0;  ///< size in bytes that a hub displays, and how much it may be off

  static PublishedFile read(const std::string& path);
  uint64_t data_bytes() const;
  /// Writes a sparse file of this layout: a PyTorch file if `path` ends in .pt, .pth or .bin, else
  /// a safetensors file.
  void write(const std::string& path) const;
};

}  // namespace syrinx
