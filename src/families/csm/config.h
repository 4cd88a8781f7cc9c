// Settings in config.json and generation_config.json of a CSM checkpoint (transformers' layout).
// Plain data, checked when read: every id is inside its table. Throws LoadError for values that are
// missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <string>

#include "codec/mimi_config.h"
#include "io/json.h"
#include "kernels/sample.h"
#include "nn/decoder.h"

namespace syrinx::csm {

/// Tokens around the text of a turn.
inline constexpr const char *kBegin = "<|begin_of_text|>", *kEnd = "<|end_of_text|>";

/// Sizes and ids of a model. Plain data.
struct ModelConfig {
  DecoderConfig backbone, depth;
  int64_t max_positions = 2048;  ///< positions of the backbone
  int64_t codebooks = 32;        ///< C, number of codebooks
  int64_t code_vocab = 0;        ///< V, rows of each codebook's table and head, more than its codes
  int64_t text_vocab = 0;
  int32_t end_code = 0;  ///< a frame in which all codes are this one is the end
  int32_t audio_token = 0,
          audio_end_token = 0;  ///< text ids that represent frames and the end frame
  bool tied = true;             ///< whether the depth decoder reads the backbone's code tables
  MimiConfig codec;
  /// The file with the tensors. Empty if the config names no file.
  std::string weights_file;

  /// Returns the number of the codec's codes, which are [0, audio_codes()).
  int64_t audio_codes() const { return codec.codebook_size; }
};

/// Sampling of codebook 0, and of the other codebooks: from generation_config.json, with the
/// authors' values for keys that it lacks.
struct Defaults {
  SampleParams outer{.temperature = 0.9f, .top_k = 50}, inner = outer;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Reads generation_config.json. Returns the authors' values if the file does not exist.
Defaults load_defaults(const std::string& path);

}  // namespace syrinx::csm
