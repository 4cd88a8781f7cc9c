// What Fish Speech makes of a request: a conversation of its references, the messages before and
// the message to speak. A message is a segment; of more than kMostPast rows it hears only the
// first (families/past.h).
#pragma once

#include "families/fish_speech/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::fish_speech {

inline constexpr int64_t kMostPast = 2048;  ///< rows of earlier messages: a minute and a half

/// Tables: of the ids, then of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config);

/// Refuses a speaker, a voice or a reference that the model cannot take.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

}  // namespace syrinx::fish_speech
