// Sizes of GLM-4-Voice's flow, from its config.yaml. Plain data.
#pragma once

#include <cstdint>

#include "codec/unet_config.h"

namespace syrinx {

struct GlmFlowConfig {
  int64_t vocab = 16384;                                   ///< number of different speech tokens
  int64_t width = 512, heads = 8, ffn = 2048, layers = 6;  ///< sizes of the encoder
  int64_t block = 10;      ///< tokens in a block of the encoder's attention
  int64_t regulators = 4;  ///< number of convolutions after the interpolation
  int64_t mel = 80, speaker = 192;
  float token_rate = 12.5f;  ///< tokens per second
  UnetConfig unet;           ///< the estimator, of two levels
  int64_t steps = 10;        ///< steps of Euler's method, along a cosine schedule
  float guidance = 0.7f;     ///< g in (1 + g) conditioned - g unconditioned

  // The authors' code has these two values as constants.
  static constexpr float kSampleRate = 22050, kHop = 256;

  /// Returns the number of mel frames of `tokens` tokens, rounded in f32 as the authors' code does.
  int64_t frames(int64_t tokens) const {
    return static_cast<int64_t>(static_cast<float>(tokens) / token_rate * kSampleRate / kHop);
  }
};

}  // namespace syrinx
