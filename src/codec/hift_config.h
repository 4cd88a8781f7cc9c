// Reads the sizes of a HiFT vocoder from a config of the hyperpyyaml kind, under the key "hift".
#pragma once

#include "codec/hift.h"
#include "io/hyper_yaml.h"

namespace syrinx {

/// Reads the sizes. Throws LoadError for a value that is missing, contradictory or not supported.
HiftConfig load_hift_config(const HyperYaml& y);

}  // namespace syrinx
