// Settings in config.json of an OmniVoice checkpoint. Plain data, checked when read. Throws
// LoadError for values that are missing, contradictory or unsupported. Source: omnivoice 0.2.1,
// omnivoice/models/omnivoice.py (OmniVoiceConfig).
#pragma once

#include <cstdint>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::omnivoice {

struct ModelConfig {
  DecoderConfig lm;       ///< a Qwen3 decoder whose rows attend to all rows of their canvas
  int64_t vocab = 0;      ///< number of ids of text
  int64_t codebooks = 0;  ///< C, codes of a frame
  int64_t choices = 0;    ///< V, rows of each codebook's table and head
  int32_t mask = 0;       ///< the choice that stands for a code that is not yet known
  int64_t positions = 0;  ///< most rows of a canvas

  /// Returns the number of the codec's codes, which are [0, codes()).
  int64_t codes() const { return choices - 1; }
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::omnivoice
