// The table of model families. A family is one folder with a load function; families.cc lists them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/json.h"
#include "kernels/packed_matrix.h"
#include "model/pipeline.h"
#include "tensor/absent.h"

namespace syrinx {

/// Arguments of a family's load function.
struct LoadSpec {
  std::string dir;    ///< the checkpoint's directory, as its authors publish it, or its only file
  std::string model;  ///< the name under which clients ask for the model
  WeightType weights = WeightType::kF32;  ///< the type in which linear weights are kept
  bool dummy = false;                     ///< random weights; only the config is read
  Device device = Device::kCpu;           ///< device of all stages that can run on it
  /// Whether a node's stage runs in another process, so that it needs no weights here; null: none.
  std::function<bool(std::string_view node)> elsewhere = {};

  /// Keep the returned object alive while the networks of `node` are built.
  AbsentTensors part(std::string_view node) const {
    return AbsentTensors(elsewhere && elsewhere(node));
  }
};

/// The model has no kernels for the GPU of LoadSpec; it may run on the CPU.
class CpuOnlyError : public LoadError {
 public:
  using LoadError::LoadError;
};

/// One row of the table: how to identify and load checkpoints of a family.
struct Family {
  const char* name;
  /// Whether a directory's config.json is of this family; exact, never a guess by a part of a name.
  /// Null: the family's checkpoints have no config.json and are identified by a file of the name
  /// `marker`.
  bool (*claims)(const Config& config);
  /// Throws LoadError.
  std::shared_ptr<const Pipeline> (*load)(const LoadSpec& spec);
  const char* marker = "config.json";
  bool on_gpu = true;  ///< whether the family has stages that run on a GPU
  /// The endings of files that are a whole checkpoint of the family (".gguf"); empty: its
  /// checkpoints are directories only. Such a file is LoadSpec::dir. A family without directories
  /// has no claims and no marker.
  std::array<std::string_view, 2> file_endings = {};
  /// Returns facts of a model before it is loaded, from small files; throws LoadError. May be null.
  std::shared_ptr<const PipelineInfo> (*facts)(const LoadSpec& spec) = nullptr;

  /// Returns the ending in `file_endings` that a path has; empty: none.
  std::string_view ending_of(std::string_view path) const {
    for (const std::string_view ending : file_endings)
      if (!ending.empty() && path.size() > ending.size() && path.ends_with(ending)) return ending;
    return {};
  }
};

/// All families, in the order of the README.
std::span<const Family> families();

}  // namespace syrinx
