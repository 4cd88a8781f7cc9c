// The sizes of a HiFT vocoder in a config of the hyperpyyaml kind, under the key "hift".
#pragma once

#include "codec/hift.h"
#include "io/hyper_yaml.h"

namespace syrinx {

/// Throws LoadError for what is missing, contradictory or not supported.
HiftConfig load_hift_config(const HyperYaml& y);

}  // namespace syrinx
