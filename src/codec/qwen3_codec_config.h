// Sizes of the Qwen3 12 Hz codec's decoder. Qwen3-TTS has them in speech_tokenizer/config.json,
// Qwen3-Omni in code2wav_config. Plain data.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"

namespace syrinx {

struct Qwen3CodecConfig {
  /// Whether this is Qwen3-Omni's code2wav, which differs in two ways. Before the transformer it
  /// has one table per codebook, whose rows are averaged; it lacks the quantizer, a convolution and
  /// projections. So codebook_dim is unused, and `latent` equals `hidden`. Its transposed
  /// convolutions drop samples that do not depend on a full kernel window, so a stream begins
  /// lead() samples late.
  bool code2wav = false;
  int64_t codebooks = 16;        ///< Q: number of codebooks: one semantic, then acoustic ones
  int64_t codebook_size = 2048;  ///< V: codes per codebook
  int64_t codebook_dim = 512;    ///< width of the quantizer's output; entries are half as wide
  int64_t latent = 1024;         ///< width outside the transformer and in the first upsampling
  int64_t hidden = 512, ffn = 1024, layers = 8, heads = 16, kv_heads = 16, head_dim = 64;
  int64_t window = 72;  ///< frames to which a frame attends, including itself
  double rope_theta = 10000, rms_eps = 1e-5;
  int64_t decoder_dim = 1536;                    ///< channels of the first layer; blocks halve them
  std::vector<int64_t> upsampling_ratios{2, 2};  ///< upsampling rates before the blocks
  std::vector<int64_t> upsample_rates{8, 5, 4, 3};
  int64_t sample_rate = 24000;  ///< Hz

  /// Returns the number of samples in a frame.
  int64_t hop() const;
  /// Returns how many samples at the beginning of a stream the network does not compute: the
  /// samples of a few frames at most.
  int64_t lead() const;
  /// Reads the decoder's part of the config. Throws LoadError for a value that is missing, out of
  /// range or unknown.
  static Qwen3CodecConfig load(const Config& root);
  /// Reads the sizes from a code2wav_config. Throws the same errors as load().
  static Qwen3CodecConfig load_code2wav(const Config& code2wav);
};

}  // namespace syrinx
