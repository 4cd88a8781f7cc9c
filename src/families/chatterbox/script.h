// Chatterbox's prompt for a request: the rows of the voice, a part of the text between its marks,
// and the start of speech. A part is a segment. The companion has the same rows without the text.
#pragma once

#include "families/chatterbox/multilingual.h"
#include "families/chatterbox/voice.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::chatterbox {

/// Returns the settings of the model. Tables: text, its positions, speech, its positions.
SpokenModel spoken_model(const ModelConfig& config);

/// Tokenizers and tables that read a request's text. All must outlive the request.
struct Reading {
  const TextTokenizer& tokenizer;
  const MultilingualText* multilingual = nullptr;  ///< null in the English edition
  std::string language = {};                       ///< one of the languages of `multilingual`
};

/// Makes the script of a request with voice `voice`. If `voice` is an Error, returns that Error.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, Reading reading,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::chatterbox
