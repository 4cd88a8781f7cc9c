// For tests: copies of checkpoints that a test may change, and errors from loading them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "io/edit_safetensors.h"
#include "io/test_dir.h"

namespace syrinx {

/// A copy of a checkpoint in its own directory.
struct CheckpointCopy {
  explicit CheckpointCopy(const std::string& checkpoint) {
    std::filesystem::copy(checkpoint, dir.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
  /// Replaces the first `from` in a file by `to`. The file must contain `from`.
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = slurp(dir.path(file));
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    dir.write(file, text.replace(at, from.size(), to));
  }
  /// Removes the tensors whose names begin with `prefix`.
  void drop(const std::string& file, const std::string& prefix) const {
    EditableSafetensors edited(dir.path(file));
    for (const std::string& tensor : edited.names())
      if (tensor.starts_with(prefix)) edited.header().erase(tensor);
    edited.write(dir.path(file));
  }
  TestDir dir;
};

/// Changes the last letter of a tensor's name in a PyTorch file. Then this tensor is missing, and
/// the file has an unknown one.
inline void misname_tensor(const std::string& path, const std::string& name) {
  std::string bytes = slurp(path);
  const auto size = static_cast<uint32_t>(name.size());  // size of a text in a pickle file
  const std::string text = 'X' + std::string(reinterpret_cast<const char*>(&size), 4) + name;
  const size_t at = bytes.find(text);
  ASSERT_NE(at, bytes.npos) << name;
  bytes[at + text.size() - 1] = '_';
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Returns the message of the LoadError that `load()` throws. Empty string if it throws none.
template <typename Load>
std::string load_fault_of(const Load& load) {
  try {
    load();
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

}  // namespace syrinx
