// What Chatterbox Turbo makes of a request: the voice, a part of the text, the start of speech. A
// part is a segment, and ends with a little silence.
// Source: chatterbox:src/chatterbox/tts_turbo.py (generate), models/t3/t3.py (inference_turbo).
#pragma once

#include "families/chatterbox_turbo/speech_lm.h"
#include "families/spoken/spoken_sequence.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::chatterbox_turbo {

inline constexpr int32_t kSpeechCodes = 6561;  ///< ids below are S3 tokens
inline constexpr int32_t kStartSpeech = 6561, kStopSpeech = 6562;
inline constexpr int32_t kSilence = 4299;  ///< a token that is silent
inline constexpr int kSilences = 3;        ///< behind a part

/// Tables: text, speech.
SpokenModel spoken_model(const ModelConfig& config);

/// Ids of a text as the authors clean it. Tags such as [laugh] are tokens where the tokenizer has
/// them; other special tokens are plain text.
std::vector<int32_t> text_ids(const Tokenizer& tokenizer, std::string_view text);

/// `voice` speaks; an Error is that of finding it.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::chatterbox_turbo
