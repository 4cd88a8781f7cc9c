// Renames the tensors of a checkpoint, for networks that expect the names of another layout.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx {

/// `names` maps each name that networks use to the name in `source`. Tensors that the map lacks
/// keep their names and are reported as unused. Networks may leave out first sizes of 1.
std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source,
                                      std::map<std::string, std::string> names);

}  // namespace syrinx
