// For tests: layouts of published checkpoints, read from tests/parity/published, and sparse files
// of exactly these layouts, without the numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace syrinx {

/// A tensor of a published checkpoint.
struct PublishedTensor {
  std::string type;  ///< type as in safetensors: "BF16"
  std::vector<int64_t> shape;
  std::string same;  ///< the tensor whose numbers this tensor shares; empty: it has its own

  int64_t width() const { return type == "I64" ? 8 : type == "F32" ? 4 : 2; }
  int64_t count() const;
};

/// The layout of one file, read from FILE.txt; the README beside it describes the format.
struct PublishedFile {
  std::map<std::string, PublishedTensor> tensors;
  nlohmann::json metadata;  ///< metadata of a safetensors file
  std::string inside;       ///< key whose value has all tensors of a PyTorch file; may be empty
  uint64_t file_bytes = 0, stated_data = 0;  ///< sizes in bytes, as published; 0: unknown
  uint64_t about = 0, give = 0;  ///< the size in bytes as a hub shows it, and its tolerance

  static PublishedFile read(const std::string& path);
  uint64_t data_bytes() const;
  /// Writes a sparse file of this layout: a PyTorch file if `path` ends in .pt, .pth or .bin, else
  /// a safetensors file.
  void write(const std::string& path) const;
};

}  // namespace syrinx
