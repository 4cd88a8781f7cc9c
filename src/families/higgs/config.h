// Settings in config.json of a Higgs Audio v3 checkpoint. Plain data, checked when read. Throws
// LoadError for values that are missing, contradictory or not supported. Source:
// sglang-omni:sglang_omni/models/higgs_tts/{hf_config,model}.py.
#pragma once

#include <cstdint>

#include "io/json.h"
#include "model/delay.h"
#include "nn/decoder.h"

namespace syrinx::higgs {

struct ModelConfig {
  DecoderConfig lm;
  int64_t vocab = 0;          ///< number of ids of text
  int64_t max_positions = 0;  ///< most positions of a request, as in training
  int64_t codebooks = 0;      ///< C, number of codes of a step
  int64_t codes = 0;          ///< V, rows of each codebook's table and head, with two marks

  /// Returns the number of the codec's codes, which are [0, real_codes()). The marks are begin(),
  /// before a stream's first code, and end(), after its last code.
  int64_t real_codes() const { return codes - 2; }
  int32_t begin() const { return static_cast<int32_t>(codes - 2); }
  int32_t end() const { return static_cast<int32_t>(codes - 1); }

  /// Returns the pattern: codebook c is delayed by c steps. Any code may follow its end mark.
  DelayPattern delays() const;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::higgs
