// Settings in config.json of a MOSS-TTS-Realtime checkpoint. Plain data, checked when read: ids are
// inside their tables. Throws LoadError for missing, contradictory or unsupported values.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::moss_tts {

/// Sizes and ids of a model. Plain data.
struct ModelConfig {
  DecoderConfig lm, depth;
  int64_t max_positions = 0;  ///< positions of the language model
  int64_t codebooks = 16;     ///< C, number of codebooks
  int64_t vocab = 0;          ///< rows of the text table
  int32_t pad_code = 1024;    ///< code of a row without audio; codes are [0, pad_code)
  int32_t audio_pad = 0;      ///< text id beside each frame of the voice's recording
  int32_t text_pad = 0;       ///< text id beside each frame after the text's last id

  /// Returns the code of the row before the first frame. In the authors' program, this code and the
  /// end code are constants (mossttsrealtime/processing_mossttsrealtime.py).
  int32_t begin_code() const { return pad_code + 1; }
  /// Returns the code that, as code 0 of a frame, ends the speech.
  int32_t end_code() const { return pad_code + 2; }
  int64_t code_vocab() const { return int64_t{pad_code} + 3; }
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::moss_tts
