// Sizes of the Qwen3 12 Hz codec decoder, from speech_tokenizer/config.json. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"

namespace syrinx {

struct Qwen3CodecConfig {
  int64_t codebooks = 16;        ///< Q: one semantic, the rest acoustic
  int64_t codebook_size = 2048;  ///< V
  int64_t codebook_dim = 512;    ///< width after the quantizer; its entries have half of it
  int64_t latent = 1024;         ///< width around the transformer and of the first upsampling
  int64_t hidden = 512, ffn = 1024, layers = 8, heads = 16, kv_heads = 16, head_dim = 64;
  int64_t window = 72;  ///< frames that a frame of the transformer sees, itself included
  double rope_theta = 10000, rms_eps = 1e-5;
  int64_t decoder_dim = 1536;                    ///< halved by every block
  std::vector<int64_t> upsampling_ratios{2, 2};  ///< before the blocks
  std::vector<int64_t> upsample_rates{8, 5, 4, 3};
  int64_t sample_rate = 24000;  ///< Hz

  /// Samples a frame.
  int64_t hop() const;
  /// Reads the decoder's part; throws LoadError for what is missing, out of range or unknown.
  static Qwen3CodecConfig load(const Config& root);
};

}  // namespace syrinx
