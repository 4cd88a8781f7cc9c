// The networks of a Chatterbox model that turn speech tokens into samples: the S3 flow and the HiFT
// vocoder, from one file of weights (s3gen). All editions use them.
#pragma once

#include <memory>

#include "codec/hift.h"
#include "codec/s3_flow.h"
#include "families/chatterbox/config.h"
#include "families/family.h"

namespace syrinx::chatterbox {

struct Sound {
  std::unique_ptr<S3Flow> flow;
  std::unique_ptr<Hift> vocoder;
};

/// Loads both networks, with at least 8 bits per weight. The parts "flow" and "vocoder" of `spec`
/// may be absent. `s3gen`: the root scope, whose tensors for cloning are not read here. Throws
/// LoadError.
Sound load_sound(const Weights& s3gen, const ModelConfig& config, const LoadSpec& spec);

}  // namespace syrinx::chatterbox
