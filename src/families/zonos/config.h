// Settings in config.json of a Zonos checkpoint. Plain data, checked when read. Throws LoadError
// for values that are missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::zonos {

/// A part of the prefix: one row, or for kPhonemes a row for each symbol of the text.
struct ConditionerConfig {
  enum Kind { kPhonemes, kVector, kFourier, kInteger };
  Kind kind = kVector;
  std::string name;    ///< "speaker", "emotion", ...
  int64_t inputs = 1;  ///< number of inputs; 0 for kPhonemes
  double min = 0, max = 1;
  bool projected = false;  ///< whether a linear layer follows
  bool learned = false;    ///< whether "unconditional" has a learned vector
};

/// Sizes and ids of a model. Plain data.
struct ModelConfig {
  DecoderConfig lm;
  int64_t max_positions = 4096;
  int64_t codebooks = 9;
  int32_t eos = 1024;   ///< id of the end; all codes are smaller
  int32_t mask = 1025;  ///< id in place of a code that a delayed codebook does not have
  std::vector<ConditionerConfig> conditioners;
  bool projected = true;  ///< whether a linear layer processes the whole prefix

  int64_t codes() const { return eos; }
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::zonos
