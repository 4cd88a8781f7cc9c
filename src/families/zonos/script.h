// Zonos' prompt and steps for a request: a prefix of symbols and conditions, then columns of codes
// in the delay pattern. Codebook k of frame f is in column f + k + 1. Column 0 has only masks and
// ends the prompt. Each step makes the next column (model/delay.h).
#pragma once

#include "families/spoken/spoken_sequence.h"
#include "families/zonos/conditioner.h"
#include "families/zonos/phonemes.h"
#include "families/zonos/voice.h"

namespace syrinx::zonos {

/// The parts of the model that a script uses. They must outlive the script.
struct Frontend {
  const ModelConfig& config;
  const PrefixConditioner& conditioner;
  Phonemize phonemize;
  Speakers speakers;
  int64_t speaker_width = 0;  ///< width of a speaker vector; 0: no speaker
};

/// Returns the settings of the model. Table 0 has the symbols, table k + 1 the codes of codebook k.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request. Checks its voice, language and instructions.
Result<std::unique_ptr<SpokenScript>> script_of(const Frontend& frontend,
                                                const SpeechRequest& request);

}  // namespace syrinx::zonos
