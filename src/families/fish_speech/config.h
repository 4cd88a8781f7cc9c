// Settings in config.json of a Fish Speech S2 checkpoint. Plain data, checked when read: every id
// is inside its table. Throws LoadError for missing, contradictory or unsupported values.
#pragma once

#include <cstdint>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::fish_speech {

struct ModelConfig {
  DecoderConfig slow, fast;
  int64_t vocab = 0;          ///< number of ids for text and semantic codes
  int64_t max_positions = 0;  ///< positions of the slow network
  int64_t codebooks = 0;      ///< C, number of codes of a frame
  int64_t codes = 0;          ///< V, rows of each codebook's table and of the fast network's head
  /// The text id of a frame is the sum of this number and the first code of the frame.
  int32_t semantic_begin = 0;
  int32_t end_token = 0;

  /// Returns the choice that ends a segment. All other choices of the slow network are codes.
  int32_t end_code() const { return static_cast<int32_t>(codes); }
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::fish_speech
