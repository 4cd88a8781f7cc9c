// Settings in config.json of a MOSS-TTS-Realtime checkpoint. Plain data, checked when read: every
// id lies inside its table. Throws LoadError for what is missing, contradictory or not supported.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::moss_tts {

/// Sizes and ids. Plain data.
struct ModelConfig {
  DecoderConfig lm, depth;
  int64_t max_positions = 0;  ///< of the language model
  int64_t codebooks = 16;     ///< C
  int64_t vocab = 0;          ///< of the text table
  int32_t pad_code = 1024;    ///< of a row without audio; codes are [0, pad_code)
  int32_t audio_pad = 0;      ///< text id beside a frame of the voice's recording
  int32_t text_pad = 0;       ///< text id beside a frame behind the text

  /// Returns the code of the row before the first frame. The authors' program has these two as
  /// constants (mossttsrealtime/processing_mossttsrealtime.py).
  int32_t begin_code() const { return pad_code + 1; }
  /// Returns the code that ends the speech, as code 0 of a frame.
  int32_t end_code() const { return pad_code + 2; }
  int64_t code_vocab() const { return int64_t{pad_code} + 3; }
};

/// Whether this config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::moss_tts
