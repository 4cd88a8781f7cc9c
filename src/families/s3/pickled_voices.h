// Reads the tensors of voices in a PyTorch file. Const after construction; any thread. Throws
// LoadError for tensors that are missing or do not fit; the message names the file and the tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/torch_pickle.h"

namespace syrinx {

class PickledVoices {
 public:
  static constexpr int64_t kMostTokens = 1500;  ///< tokens of a voice: one minute

  explicit PickledVoices(const std::string& path) : file_(path) {}

  const TorchPickle& file() const { return file_; }
  bool has(const std::string& name) const { return file_.find(name) != nullptr; }
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;
  /// Returns a tensor that must exist.
  const TorchTensor& get(const std::string& name) const;
  /// Returns at most kMostTokens ids below `bound`.
  std::vector<int32_t> ids(const std::string& name, int64_t bound) const;
  /// Returns the values of a tensor of floats.
  View floats(const TorchTensor& tensor) const;

 private:
  TorchPickle file_;
};

}  // namespace syrinx
