// Fish Speech's prompt for a request: a conversation that consists of its references, the earlier
// messages, and the message to speak. A message is a segment. If the earlier messages have more
// than kMostPast rows, only the first ones stay in the prompt (families/past.h).
#pragma once

#include "families/fish_speech/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::fish_speech {

inline constexpr int64_t kMostPast = 2048;  ///< rows of earlier messages: a minute and a half

/// Returns the settings. Tables: the table of ids, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request. Returns an Error for a speaker, voice or reference that the model
/// does not support.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

}  // namespace syrinx::fish_speech
