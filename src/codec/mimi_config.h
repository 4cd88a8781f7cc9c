// The config of a Mimi codec (transformers' MimiConfig). Keys that are absent have the values of
// the published model. Plain data, checked when read: throws LoadError for a value that is
// contradictory or unsupported.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Names of all parts in a checkpoint, except the transformer blocks. The defaults are the names in
/// transformers.
struct MimiNames {
  const char* upsample = "upsample.conv";
  const char* downsample = "downsample.conv";
  const char* layers = "layers";  ///< list of the encoder's and the decoder's layers
  const char* raise = "conv";     ///< layer that raises the rate
  const char* encoder_transformer = "encoder_transformer";
  const char* decoder_transformer = "decoder_transformer";
  DecoderNames blocks = {};
};

struct MimiConfig {
  int64_t sample_rate = 24000;   ///< Hz
  int64_t codebooks = 32;        ///< Q: number of codebooks
  int64_t semantic = 1;          ///< number of first codebooks that have their own projection
  int64_t codebook_size = 2048;  ///< V: codes per codebook
  int64_t codebook_dim = 256;    ///< D: width of a codebook entry
  int64_t hidden = 512;          ///< H: width of the latent and of the transformers
  int64_t filters = 64;          ///< channels of the layer at the sample rate
  std::vector<int64_t> ratios = {8, 6, 5, 4};  ///< upsampling rates, from the latent to samples
  int64_t residual_layers = 1;                 ///< number of residual layers per ratio
  int64_t dilation_growth = 2;
  int64_t compress = 2;  ///< factor by which a residual layer is narrower inside
  int64_t taps = 7, last_taps = 3, residual_taps = 3;
  /// sizes of each transformer
  int64_t layers = 8, heads = 8, kv_heads = 8, head_dim = 64, ffn = 2048;
  int64_t window = 250;  ///< positions that attention covers, two per frame
  float norm_eps = 1e-5f;
  double rope_theta = 10000;
  bool attention_bias = false;
  int64_t latent_rate = 2;   ///< rows per frame in the transformers
  int64_t encoded = 512;     ///< width of the encoder's output frames
  bool interleaved = false;  ///< RopeLayout::kInterleaved instead of kHalfSplit
  bool gelu_tanh = false;    ///< the transformers approximate GELU with tanh
  MimiNames names = {};

  /// Largest dilation that a loader accepts; a stream keeps rows in proportion to it.
  static constexpr int64_t kMostDilation = 1024;
  /// Returns the dilation of the last residual layer of a ratio, the largest one.
  int64_t dilation() const;
  /// Returns the number of samples in a frame.
  int64_t hop() const;
  /// Returns the config of the transformers, which is the same in the encoder and the decoder.
  DecoderConfig transformer() const;
  static MimiConfig load(const Config& config);
};

}  // namespace syrinx
