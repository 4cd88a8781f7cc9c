// Sizes of a U-Net that serves as the estimator of a flow (CosyVoice2, Chatterbox, GLM-4-Voice),
// and how they are read from a hyperpyyaml config.
#pragma once

#include <cstdint>

#include "io/hyper_yaml.h"

namespace syrinx {

/// Plain data; the defaults are the published sizes.
struct UnetConfig {
  int64_t channels = 256, heads = 8, head_dim = 64;
  int64_t blocks = 4;   ///< transformer blocks after each resnet
  int64_t middle = 12;  ///< resnets between the first half and the second half

  int64_t inner() const { return heads * head_dim; }  ///< width of queries, keys and values
};

/// Reads the sizes from the object at the key "flow.decoder.estimator". `mel`: bands of the mel.
/// `levels`: the number of levels, which have equal numbers of channels. Throws LoadError for a
/// value that is missing, contradictory or unsupported.
UnetConfig load_unet_config(const HyperYaml& y, int64_t mel, int levels);

}  // namespace syrinx
