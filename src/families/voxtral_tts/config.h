// Settings in params.json of a Voxtral TTS checkpoint (Mistral's own layout). Plain data, checked
// when read. Throws LoadError for values that are missing, contradictory or not supported. Source:
// vllm-omni:vllm_omni/transformers_utils/parsers/voxtral_tts.py.
#pragma once

#include <cstdint>

#include "codec/voxtral_codec.h"
#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::voxtral_tts {

inline constexpr const char* kMarker = "params.json";

struct ModelConfig {
  DecoderConfig lm;
  DecoderConfig flow;  ///< the acoustic transformer, of equal width
  int64_t vocab = 131072;
  int64_t max_positions = 4096;
  int steps = 7;  ///< Euler steps of the flow
  VoxtralCodecConfig codec;

  /// Choices before the codes in each table of codes: no code, and the end.
  static constexpr int32_t kEmpty = 0, kEnd = 1, kMarks = 2;

  /// Returns the number of choices of the first code of a frame, and of each other code.
  int64_t semantic_choices() const { return kMarks + codec.codebook_size; }
  int64_t acoustic_choices() const { return kMarks + codec.levels; }
};

/// Returns whether a params.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks params.json. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::voxtral_tts
