// Sizes of the S3 flow, which maps speech tokens (25 Hz) to mel frames (50 Hz). CosyVoice2 and 3,
// Chatterbox and Step-Audio 2 share it. Some checkpoints have no machine-readable config of the
// flow, so the defaults are CosyVoice2's published sizes. Plain data.
#pragma once

#include <cstdint>
#include <optional>

#include "codec/unet_config.h"

namespace syrinx {

/// The kinds of transformers that serve as estimators.
enum class DitForm : uint8_t {
  kConvolutional,  ///< Step-Audio 2: blocks with convolutions, and norms of queries and keys
  kRotary,         ///< CosyVoice3: convolutions before the blocks, and rotary positions
};

/// Sizes of a transformer that serves as estimator.
struct DitConfig {
  int64_t depth = 16, width = 512, heads = 8, head_dim = 64, ffn = 2048;
  DitForm form = DitForm::kConvolutional;
};

/// Sizes of the flow; the defaults are CosyVoice2's.
struct S3FlowConfig {
  int64_t vocab = 6561;  ///< number of different speech tokens
  int64_t width = 512;   ///< width of the encoder
  int64_t heads = 8, ffn = 2048, layers = 6, up_layers = 4;
  /// Channels between the two convolutions of an encoder that has only these (CosyVoice3; `width`
  /// then equals `mel`). 0 means that the encoder is a conformer.
  int64_t plain_channels = 0;
  int64_t lookahead = 3;  ///< number of later tokens on which a token's encoding depends
  int64_t chunk = 25;     ///< tokens of a chunk; a token attends to its chunk and earlier chunks
  int64_t mel = 80, ratio = 2;  ///< mel bands; mel frames a token
  int64_t speaker = 192;        ///< size of the speaker vector
  /// Whether the prompt of a voice is one chunk. The first tokens of the prompt then serve as
  /// lookahead of its last tokens. Chunks are counted from the prompt's end, and the last chunk of
  /// a stream has all remaining tokens, fewer than chunk + lookahead.
  bool whole_prompt = false;
  /// Limit of the past to which the estimator attends, in mel frames; 0 means no limit. The past is
  /// ordered with the latest chunk first and the prompt last. Attention covers its first frames (as
  /// many as the prompt has) and its last `recent` frames.
  int64_t recent = 0;
  std::optional<DitConfig> dit;  ///< a DiT estimator; if empty, `unet` is used
  UnetConfig unet;               ///< the causal estimator, of one level
  int64_t steps = 10;            ///< steps of Euler's method, along a cosine schedule
  float guidance = 0.7f;         ///< g in (1 + g) conditioned - g unconditioned
  /// Whether the network is distilled to mean velocities (Chatterbox Turbo). Its steps have
  /// equal lengths, its input includes the end of each step, and it has no unconditioned
  /// branch.
  bool mean_flow = false;

  /// Returns the number of branches of a step: a conditioned branch and, unless mean_flow, an
  /// unconditioned branch.
  int64_t branches() const { return mean_flow ? 1 : 2; }

  int64_t chunk_frames() const { return chunk * ratio; }
  /// Returns the number of tokens in the longest chunk after the prompt.
  int64_t longest_chunk() const { return whole_prompt ? chunk + lookahead - 1 : chunk; }
};

}  // namespace syrinx
