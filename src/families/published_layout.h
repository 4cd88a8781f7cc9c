// For tests: layouts of published checkpoints, read from tests/parity/published, and files of
// exactly these layouts with holes where the numbers would be.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace syrinx {

/// A tensor of a published checkpoint.
struct PublishedTensor {
  std::string type;  ///< as safetensors has it: "BF16"
  std::vector<int64_t> shape;
  std::string same;  ///< the tensor whose numbers it shares; empty: its own

  int64_t width() const { return type == "I64" ? 8 : type == "F32" ? 4 : 2; }
  int64_t count() const;
};

/// A file FILE.txt; the README beside says how it reads.
struct PublishedFile {
  std::map<std::string, PublishedTensor> tensors;
  nlohmann::json metadata;  ///< of a safetensors file
  std::string inside;       ///< of a PyTorch file: the key whose value holds them all
  uint64_t file_bytes = 0, stated_data = 0;  ///< as published; 0: unknown
  uint64_t about = 0, give = 0;  ///< bytes as a hub shows them, and how far off they may be

  static PublishedFile read(const std::string& path);
  uint64_t data_bytes() const;
  /// The file, with holes for data: a PyTorch file where `path` ends in .pt, .pth or .bin, else
  /// safetensors.
  void write(const std::string& path) const;
};

}  // namespace syrinx
