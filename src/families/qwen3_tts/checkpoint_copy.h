// For tests: a checkpoint that may be changed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "families/qwen3_tts/fixture.h"
#include "io/edit_safetensors.h"
#include "io/test_dir.h"

namespace syrinx::qwen3_tts {

/// A copy of the golden checkpoint `name`.
struct CheckpointCopy {
  explicit CheckpointCopy(const std::string& name) {
    std::filesystem::copy(golden_dir(name) + "/checkpoint", dir.path(),
                          std::filesystem::copy_options::recursive |
                              std::filesystem::copy_options::overwrite_existing);
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = slurp(dir.path(file));
    const size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    dir.write(file, text.replace(at, from.size(), to));
  }
  /// Takes the tensors out whose names begin with `prefix`.
  void drop(const std::string& file, const std::string& prefix) {
    EditableSafetensors edited(dir.path(file));
    for (const std::string& tensor : edited.names())
      if (tensor.starts_with(prefix)) edited.header().erase(tensor);
    edited.write(dir.path(file));
  }
  /// What loading it ends with; empty: it loads.
  std::string fault(bool dummy = false) const {
    try {
      Qwen3Tts model({dir.path(), "copy", WeightType::kF32, dummy});
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  }
  TestDir dir;
};

}  // namespace syrinx::qwen3_tts
