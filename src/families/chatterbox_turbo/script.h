// Chatterbox Turbo's prompt for a request: the voice, a part of the text, and the start of speech.
// A part is a segment and ends with a short silence. Source: chatterbox:src/chatterbox/tts_turbo.py
// (generate), models/t3/t3.py (inference_turbo).
#pragma once

#include "families/chatterbox_turbo/speech_lm.h"
#include "families/spoken/spoken_sequence.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::chatterbox_turbo {

inline constexpr int32_t kSpeechCodes = 6561;  ///< number of S3 tokens; their ids are below it
inline constexpr int32_t kStartSpeech = 6561, kStopSpeech = 6562;
inline constexpr int32_t kSilence = 4299;  ///< id of a token that is silence
inline constexpr int kSilences = 3;        ///< number of such tokens after a part

/// Returns the settings of the model. Tables: text, speech.
SpokenModel spoken_model(const ModelConfig& config);

/// Returns the ids of a text, cleaned as in the authors' code. Tags such as [laugh] become tokens
/// if the tokenizer has them. Other special tokens are read as plain text.
std::vector<int32_t> text_ids(const Tokenizer& tokenizer, std::string_view text);

/// Makes the script of a request with voice `voice`. If `voice` is an Error, returns that Error.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::chatterbox_turbo
