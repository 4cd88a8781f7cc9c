// Sizes of Fish Audio's codec, a causal DAC with a transformer over frames. Plain data. The authors
// publish no config beside codec.pth, so sizes are read from its tensors. Sizes that no tensor
// determines are constants from the authors' configs
// (fish-speech:fish_speech/configs/modded_dac_vq.yaml).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx {

struct FishCodecConfig {
  static constexpr int64_t kSampleRate = 44100;  ///< Hz
  static constexpr int64_t kHeadDim = 64;        ///< a narrower transformer has one head
  static constexpr int64_t kWindow = 128;  ///< frames to which a frame attends, including itself
  static constexpr int64_t kEncoderWindow = 512;  ///< rows that the encoder's own attention covers

  int64_t sample_rate = kSampleRate;
  int64_t codebooks = 10;  ///< Q: one semantic codebook, followed by the residual codebooks
  int64_t semantic_codes = 4096, residual_codes = 1024;
  int64_t codebook_dim = 8;
  int64_t latent = 1024;  ///< width of a frame
  int64_t post_layers = 8, post_ffn = 3072;
  std::vector<int64_t> upsample{2, 2};  ///< upsampling rates, in the order of the decoder
  int64_t channels = 1536;  ///< channels of the decoder's first layer; every block halves them
  std::vector<int64_t> rates{8, 8, 4, 2};

  /// Whether the checkpoint has the encoder, which only cloning needs. Its sizes:
  bool encodes = true;
  int64_t pre_layers = 8, pre_ffn = 3072;
  std::vector<int64_t> downsample{2, 2};
  int64_t encoder_channels = 64;  ///< channels of its first layer; every block doubles them
  std::vector<int64_t> encoder_rates{2, 4, 8, 8};
  std::vector<int64_t> encoder_layers{0, 0, 0, 4};  ///< transformer layers after each block
  int64_t encoder_ffn = 3072;

  /// Returns the number of samples in a frame.
  int64_t hop() const;
  /// Returns the number of codes of codebook q.
  int64_t codes(int64_t q) const { return q == 0 ? semantic_codes : residual_codes; }

  /// Returns the published sizes, replaced by the sizes of the tensors. `weights` is the scope that
  /// contains "quantizer.", "decoder." and "encoder.". Throws LoadError if the sizes contradict
  /// each other.
  static FishCodecConfig of(const Weights& weights);
};

/// Returns "1 x 4096 + 9 x 1024 codes, 8 layers, 2048 samples a frame".
std::string describe_codec(const FishCodecConfig& codec);

/// Returns the config of a transformer in this codec: interleaved angles, layer scales, one linear
/// for q, k and v.
DecoderConfig fish_transformer(int64_t width, int64_t layers, int64_t ffn, int64_t window);

/// Returns the scope of codec.pth that has the tensors: its root, "state_dict", "generator" or
/// "state_dict.generator".
Weights fish_codec_scope(const Weights& root);

}  // namespace syrinx
