// Settings in config.json of a Qwen3-ASR checkpoint, in the layout of its authors (everything in
// "thinker_config", names "thinker.*") or of transformers (names "model.*"). Plain data. Throws
// LoadError for values that are missing, contradictory or not supported.
//
// The authors rotate queries and keys by three equal positions ("mrope_section"), which is plain
// RoPE.
#pragma once

#include "codec/qwen3_audio_tower.h"
#include "families/llm/config.h"
#include "io/json.h"

namespace syrinx::qwen3_asr {

struct ModelConfig {
  Qwen3AudioConfig audio;
  llm::ModelConfig text;   ///< the model that writes
  int32_t audio_id = 0;    ///< id that represents a row of a recording
  bool converted = false;  ///< whether the checkpoint has the layout of transformers
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::qwen3_asr
