// Renames the tensors of a checkpoint, for networks that expect the names of another layout.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx {

/// A tensor of a file, or one of `parts` equal parts of it along its first axis.
struct StoredTensor {
  StoredTensor() = default;
  StoredTensor(std::string stored, int64_t part_of = 0, int64_t count = 1)  // NOLINT: a name
      : name(std::move(stored)), part(part_of), parts(count) {}
  StoredTensor(const char* stored) : name(stored) {}  // NOLINT: a name

  std::string name;
  int64_t part = 0, parts = 1;
};

/// The stored tensor for each name that networks use.
using StoredNames = std::map<std::string, StoredTensor>;

/// Returns `source` with other names: `names` maps each name that networks use to a stored tensor.
/// Tensors that the map lacks keep their names and are reported as unused. Networks may leave out
/// first sizes of 1. Several names may mean the same tensor.
std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source, StoredNames names);

}  // namespace syrinx
