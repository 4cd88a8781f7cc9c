// Chatterbox's prompt for a request: the rows of the voice, a part of the text between its marks,
// the start of speech. A part is a segment. The companion gets the same rows without the text.
#pragma once

#include "families/chatterbox/multilingual.h"
#include "families/chatterbox/voice.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::chatterbox {

/// Returns the settings. Tables: text, its positions, speech, its positions.
SpokenModel spoken_model(const ModelConfig& config);

/// Tokenizers and tables that read a request's text; all outlive the request.
struct Reading {
  const TextTokenizer& tokenizer;
  const MultilingualText* multilingual = nullptr;  ///< null: the English edition
  std::string language = {};                       ///< one of the languages of `multilingual`
};

/// Makes the script of a request that `voice` speaks; or returns the Error that replaces the voice.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, Reading reading,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::chatterbox
