// Settings in config.json and generation_config.json of a CSM checkpoint (transformers' layout).
// Plain data, checked when read: every id lies inside its table. Throws LoadError for what is
// missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <string>

#include "codec/mimi_config.h"
#include "io/json.h"
#include "kernels/sample.h"
#include "nn/decoder.h"

namespace syrinx::csm {

/// Sizes and ids. Plain data.
struct ModelConfig {
  DecoderConfig backbone, depth;
  int64_t max_positions = 2048;  ///< positions of the backbone
  int64_t codebooks = 32;        ///< C
  int64_t code_vocab = 0;  ///< V, rows of each codebook's table and head; more than there are codes
  int64_t text_vocab = 0;
  int32_t end_code = 0;  ///< a frame that has only this code is the end
  int32_t audio_token = 0,
          audio_end_token = 0;  ///< text ids that stand for frames and for the end frame
  bool tied = true;             ///< the depth decoder reads the backbone's code tables
  MimiConfig codec;
  /// The file of the tensors; empty if the config names none.
  std::string weights_file;

  /// Returns the number of the codec's codes, which are [0, audio_codes()).
  int64_t audio_codes() const { return codec.codebook_size; }
};

/// Sampling of codebook 0 and of the other codebooks: generation_config.json, or the authors'
/// values for keys that it lacks.
struct Defaults {
  SampleParams outer{.temperature = 0.9f, .top_k = 50}, inner = outer;
};

/// Whether this config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Reads generation_config.json; without the file, returns the authors' values.
Defaults load_defaults(const std::string& path);

}  // namespace syrinx::csm
