// For tests: checkpoints that may be changed, and why models cannot be loaded.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "io/edit_safetensors.h"
#include "io/test_dir.h"

namespace syrinx {

/// A copy of the checkpoint in a directory.
struct CheckpointCopy {
  explicit CheckpointCopy(const std::string& checkpoint) {
    std::filesystem::copy(checkpoint, dir.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
  /// The first `from` in a file; it must be there.
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = slurp(dir.path(file));
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    dir.write(file, text.replace(at, from.size(), to));
  }
  /// Takes the tensors out whose names begin with `prefix`.
  void drop(const std::string& file, const std::string& prefix) const {
    EditableSafetensors edited(dir.path(file));
    for (const std::string& tensor : edited.names())
      if (tensor.starts_with(prefix)) edited.header().erase(tensor);
    edited.write(dir.path(file));
  }
  TestDir dir;
};

/// What `load()` is refused with; empty: it loads.
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
