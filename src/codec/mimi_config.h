// What the config of a Mimi codec says (transformers' MimiConfig); absent keys are the published
// model's. Plain data, checked when read: LoadError for what is contradictory or not supported.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

struct MimiConfig {
  int64_t sample_rate = 24000;   ///< Hz
  int64_t codebooks = 32;        ///< Q
  int64_t semantic = 1;          ///< codebooks, the first ones, that have a projection of their own
  int64_t codebook_size = 2048;  ///< V
  int64_t codebook_dim = 256;    ///< D
  int64_t hidden = 512;          ///< H, of the latent and of the transformers
  int64_t filters = 64;          ///< channels at the sample rate
  std::vector<int64_t> ratios = {8, 6, 5, 4};  ///< from the latent to samples
  int64_t residual_layers = 1;                 ///< per ratio
  int64_t dilation_growth = 2;
  int64_t compress = 2;  ///< channels inside a residual layer are fewer by this
  int64_t taps = 7, last_taps = 3, residual_taps = 3;
  int64_t layers = 8, heads = 8, kv_heads = 8, head_dim = 64, ffn = 2048;  ///< of a transformer
  int64_t window = 250;  ///< positions; two a frame
  float norm_eps = 1e-5f;
  double rope_theta = 10000;
  bool attention_bias = false;

  static constexpr int64_t kLatentRate = 2;  ///< rows of the latent a frame

  /// Samples a frame.
  int64_t hop() const;
  /// The blocks of the encoder and of the decoder, which are alike.
  DecoderConfig transformer() const;
  static MimiConfig load(const Config& config);
};

}  // namespace syrinx
