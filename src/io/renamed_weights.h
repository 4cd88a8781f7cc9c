// A checkpoint under other names: what is published in one layout, for networks of another.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/weights.h"

namespace syrinx {

/// `names` maps each name of the networks to that of `source`. Tensors that it does not have keep
/// their own names and are left over.
std::unique_ptr<WeightSource> renamed(std::unique_ptr<WeightSource> source,
                                      std::map<std::string, std::string> names);

}  // namespace syrinx
