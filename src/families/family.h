// The table of model families. A family is one folder with a load function; families.cc lists them.
#pragma once

#include <array>
#include <functional>
#include <map>
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

/// The devices of nodes, by name.
using NodeDevices = std::map<std::string, Device, std::less<>>;

/// Arguments of a family's load function.
struct LoadSpec {
  std::string dir;    ///< directory of the checkpoint as its authors publish it, or its only file
  std::string model;  ///< name that clients send to choose the model
  WeightType weights = WeightType::kF32;  ///< type in which linear weights are stored
  bool dummy = false;                     ///< random weights; only the config is read
  Device device = Device::kCpu;           ///< device of all other stages that support it
  /// Returns whether a node's stage runs in another process, which has its weights. Null: never.
  std::function<bool(std::string_view node)> elsewhere = {};
  NodeDevices devices = {};  ///< devices of single nodes

  /// Returns the device for the networks of a node.
  Device device_of(std::string_view node) const {
    const auto found = devices.find(node);
    return found == devices.end() ? device : found->second;
  }

  /// Returns make(), which builds the networks of `node`; without memory for their weights if the
  /// node's stage runs in another process.
  template <typename Make>
  auto part(std::string_view node, const Make& make) const {
    const AbsentTensors part(elsewhere && elsewhere(node));
    return make();
  }
};

/// Loads a checkpoint as a Model, for Family::load; `edition`: further arguments of its
/// constructor. Throws LoadError.
template <typename Model, const auto&... edition>
std::shared_ptr<const Pipeline> load_as(const LoadSpec& spec) {
  return std::make_shared<Model>(spec, edition...);
}

/// One row of the table: how to identify and load checkpoints of a family.
struct Family {
  const char* name;
  /// Returns whether a directory's `marker`, a JSON file, belongs to this family; exact, never a
  /// guess from a part of a name. Null: the presence of `marker` identifies the family.
  bool (*claims)(const Config& config);
  /// Loads a checkpoint; throws LoadError.
  std::shared_ptr<const Pipeline> (*load)(const LoadSpec& spec);
  const char* marker = "config.json";
  bool on_gpu = true;  ///< whether the family has stages that run on a GPU
  /// Endings of files that are a whole checkpoint of the family, e.g. ".gguf". Empty: checkpoints
  /// are directories only. Such a file is LoadSpec::dir. A family that has only files has no
  /// `claims` and no `marker`.
  std::array<std::string_view, 2> file_endings = {};
  /// Reads facts of a model from small files before it is loaded. Throws LoadError. May be null.
  std::shared_ptr<const PipelineInfo> (*facts)(const LoadSpec& spec) = nullptr;

  /// Returns the ending in `file_endings` that `path` has. Empty string if it has none.
  std::string_view ending_of(std::string_view path) const {
    for (const std::string_view ending : file_endings)
      if (!ending.empty() && path.size() > ending.size() && path.ends_with(ending)) return ending;
    return {};
  }
};

/// Returns all families, in the order of the README.
std::span<const Family> families();

}  // namespace syrinx
