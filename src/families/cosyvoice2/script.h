// What CosyVoice2 makes of a request: the voice's text or instructions, a part of the text, the
// voice's speech. A part is a segment.
#pragma once

#include "families/cosyvoice2/frontend.h"
#include "families/cosyvoice2/voices.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::cosyvoice2 {

/// Tables of the rows, one entry each.
enum class Table : int32_t { kText, kControl, kSpeech };
inline constexpr int kTables = 3;

/// Tables, bounds and sampling of the language model.
SpokenModel spoken_model(const ModelConfig& config);

/// `voice` speaks; an Error is that of finding it.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Frontend& frontend,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::cosyvoice2
