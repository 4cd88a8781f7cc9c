// Sizes of Fish Audio's codec, a causal DAC whose frames pass through a transformer. Plain data.
// The authors publish no config beside codec.pth: sizes come from its tensors, and what no tensor
// determines are constants of their configs (fish-speech:fish_speech/configs/modded_dac_vq.yaml).
#pragma once

#include <cstdint>
#include <vector>

#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx {

struct FishCodecConfig {
  static constexpr int64_t kSampleRate = 44100;   ///< Hz
  static constexpr int64_t kHeadDim = 64;         ///< a narrower transformer has one head
  static constexpr int64_t kWindow = 128;         ///< frames that a frame sees, itself included
  static constexpr int64_t kEncoderWindow = 512;  ///< the same of the encoder's own rows

  int64_t codebooks = 10;  ///< Q: the semantic one, then the residual ones
  int64_t semantic_codes = 4096, residual_codes = 1024;
  int64_t codebook_dim = 8;
  int64_t latent = 1024;  ///< width of a frame
  int64_t post_layers = 8, post_ffn = 3072;
  std::vector<int64_t> upsample{2, 2};  ///< in the decoder's order
  int64_t channels = 1536;              ///< of the decoder, halved by every block
  std::vector<int64_t> rates{8, 8, 4, 2};

  /// Sizes of the encoder, which is there for cloning only.
  bool encodes = true;
  int64_t pre_layers = 8, pre_ffn = 3072;
  std::vector<int64_t> downsample{2, 2};
  int64_t encoder_channels = 64;  ///< doubled by every block
  std::vector<int64_t> encoder_rates{2, 4, 8, 8};
  std::vector<int64_t> encoder_layers{0, 0, 0, 4};  ///< transformer layers after each block
  int64_t encoder_ffn = 3072;

  /// Samples a frame.
  int64_t hop() const;
  /// How many codes codebook q has.
  int64_t codes(int64_t q) const { return q == 0 ? semantic_codes : residual_codes; }

  /// The published sizes, but for what the tensors say. `weights` is the scope that holds
  /// "quantizer.", "decoder." and "encoder."; throws LoadError for sizes that fit no such network.
  static FishCodecConfig of(const Weights& weights);
};

/// A transformer of the codec: interleaved angles, layer scales, one linear of q, k and v.
DecoderConfig fish_transformer(int64_t width, int64_t layers, int64_t ffn, int64_t window);

/// Where codec.pth has its tensors: at its root, or below "state_dict", "generator" or both.
Weights fish_codec_scope(const Weights& root);

}  // namespace syrinx
