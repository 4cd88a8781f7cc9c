// The config of MOSS-Audio-Tokenizer, a codec of transformers without convolutions. Transformers
// and patches alternate. A patch of the decoder divides each row into several rows with fewer
// channels; a patch of the encoder joins rows. Plain data, checked when read: throws LoadError for
// a value that is missing, contradictory or unsupported. Source:
// MOSS-Audio-Tokenizer:configuration_moss_audio_tokenizer.py.
#pragma once

#include <cstdint>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// A transformer with its patch, which precedes it in the encoder and follows it in the decoder.
struct MossBlock {
  int64_t number = 0;       ///< index in the list of modules, for the names of tensors
  int64_t in = 0, out = 0;  ///< channels; linears convert them to the width of `net`
  int64_t rate = 1;         ///< rows per frame in the transformer
  int64_t patch = 1;        ///< rows that the patch makes from one row, or joins to one
  DecoderConfig net;
};

struct MossCodecConfig {
  int64_t sample_rate = 24000;  ///< Hz
  int64_t codebooks = 32;       ///< Q; a model may use fewer codebooks than the checkpoint has
  int64_t codebook_size = 1024, codebook_dim = 8;
  int64_t latent = 768;  ///< width of the encoder's output and the decoder's input
  int64_t rvq = 512;     ///< width of the residuals; if it differs from `latent`, linears convert
  std::vector<MossBlock> encoder, decoder;  ///< in the order of the network

  /// Returns the number of samples in a frame.
  int64_t hop() const { return decoder.back().rate * decoder.back().patch; }
  static MossCodecConfig load(const Config& root);
  /// Returns the sizes of OpenMOSS-Team/MOSS-Audio-Tokenizer.
  static MossCodecConfig published();
};

}  // namespace syrinx
