// A checkpoint with other names: published in one layout, for networks that expect another.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx {

/// `names` maps each name that networks use to the name in `source`. Tensors that are not in the
/// map keep their names and are reported as unused.
std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source,
                                      std::map<std::string, std::string> names);

}  // namespace syrinx
