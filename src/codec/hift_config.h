// Reads the sizes of a HiFT vocoder from a hyperpyyaml config, from the object at the key "hift".
#pragma once

#include "codec/hift.h"
#include "io/hyper_yaml.h"

namespace syrinx {

/// Reads the sizes of a vocoder of the usual form or, with `causal`, of the causal form. Throws
/// LoadError for a value that is missing, contradictory or unsupported.
HiftConfig load_hift_config(const HyperYaml& y, bool causal = false);

}  // namespace syrinx
