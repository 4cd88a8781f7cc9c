// Sizes of the Qwen3 12 Hz codec decoder: Qwen3-TTS' from speech_tokenizer/config.json,
// Qwen3-Omni's from code2wav_config. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"

namespace syrinx {

struct Qwen3CodecConfig {
  /// Qwen3-Omni's code2wav. Codes have tables of their own, whose rows are averaged, instead of a
  /// quantizer, a convolution and projections before the transformer, so codebook_dim is unused and
  /// latent is hidden. And its transposed convolutions drop the samples that come before a whole
  /// window of input: a stream begins lead() samples late.
  bool code2wav = false;
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
  /// Samples at the beginning of a stream that the network does not make; less than there are in
  /// some frames.
  int64_t lead() const;
  /// Reads the decoder's part; throws LoadError for what is missing, out of range or unknown.
  static Qwen3CodecConfig load(const Config& root);
  /// The same of a code2wav_config.
  static Qwen3CodecConfig load_code2wav(const Config& code2wav);
};

}  // namespace syrinx
