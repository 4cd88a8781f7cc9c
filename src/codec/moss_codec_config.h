// The config of MOSS-Audio-Tokenizer, a codec of transformers without convolutions. Blocks of a
// transformer and a patch follow one another: a patch of the decoder makes each row into several
// rows of fewer channels, a patch of the encoder joins rows. Plain data, checked when read:
// LoadError for a value that is missing, contradictory or not supported.
// Source: MOSS-Audio-Tokenizer:configuration_moss_audio_tokenizer.py.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// A transformer with the patch beside it: before it in the encoder, behind it in the decoder.
struct MossBlock {
  int64_t number = 0;       ///< of the transformer in the list of modules, which names its tensors
  int64_t in = 0, out = 0;  ///< channels; linears join them to another width inside
  int64_t rate = 1;         ///< rows a frame
  int64_t patch = 1;        ///< rows that the patch makes of one, or joins to one
  DecoderConfig net;
};

struct MossCodecConfig {
  int64_t sample_rate = 24000;  ///< Hz
  int64_t codebooks = 32;       ///< Q, of those the checkpoint has; a model may use fewer
  int64_t codebook_size = 1024, codebook_dim = 8;
  int64_t latent = 768;  ///< width of what the encoder makes and the decoder reads
  int64_t rvq = 512;     ///< width of the residuals; latents are projected unless it is theirs
  std::vector<MossBlock> encoder, decoder;  ///< in the order of the network

  /// Returns the samples of a frame.
  int64_t hop() const { return decoder.back().rate * decoder.back().patch; }
  static MossCodecConfig load(const Config& root);
  /// Returns the sizes of OpenMOSS-Team/MOSS-Audio-Tokenizer.
  static MossCodecConfig published();
};

}  // namespace syrinx
