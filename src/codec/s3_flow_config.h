// Sizes of the S3 flow, the network from speech tokens (25 Hz) to mel frames (50 Hz) that
// CosyVoice2, Chatterbox and Step-Audio 2 share. The checkpoints of some carry no machine-readable
// config of it, so these are CosyVoice2's published sizes. Plain data.
#pragma once

#include <cstdint>
#include <optional>

namespace syrinx {

/// Sizes of Step-Audio 2's estimator, a transformer.
struct DitConfig {
  int64_t depth = 16, width = 512, heads = 8, head_dim = 64, ffn = 2048;
};

/// Sizes; the defaults are CosyVoice2's.
struct S3FlowConfig {
  int64_t vocab = 6561;  ///< speech tokens
  int64_t width = 512;   ///< of the encoder
  int64_t heads = 8, ffn = 2048, layers = 6, up_layers = 4;
  int64_t lookahead = 3;  ///< tokens that a token's encoding sees after it
  int64_t chunk = 25;     ///< tokens that see each other: everything sees whole chunks, none after
  int64_t mel = 80, ratio = 2;  ///< mel frames a token
  int64_t speaker = 192;        ///< of the speaker vector
  /// A voice's prompt is one chunk, whose last tokens look ahead at its own first ones; chunks
  /// count from its end, and the last one of a stream takes what is left, up to chunk + lookahead.
  bool whole_prompt = false;
  /// More frames than the prompt has that attention of the estimator reaches: those of the latest
  /// chunks in the number of the prompt's, and as many at the prompt's end. 0: all.
  int64_t recent = 0;
  std::optional<DitConfig> dit;  ///< the estimator; or else a causal U-Net of one level:
  int64_t channels = 256, unet_heads = 8, unet_head_dim = 64;
  int64_t blocks = 4;     ///< transformer blocks after each resnet
  int64_t middle = 12;    ///< resnets between the first and the last
  int64_t steps = 10;     ///< of Euler's method, along a cosine schedule
  float guidance = 0.7f;  ///< g of (1 + g) conditioned - g unconditioned
  /// A network distilled to mean velocities (Chatterbox Turbo): steps are of even lengths, each is
  /// given its end beside its beginning, and none has an unconditioned branch.
  bool mean_flow = false;

  /// Branches of a step: conditioned, and not.
  int64_t branches() const { return mean_flow ? 1 : 2; }

  int64_t chunk_frames() const { return chunk * ratio; }
  /// Tokens of the longest chunk behind the prompt.
  int64_t longest_chunk() const { return whole_prompt ? chunk + lookahead - 1 : chunk; }
};

}  // namespace syrinx
