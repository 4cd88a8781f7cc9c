// The prompt of CosyVoice2 and 3 for a request: the voice's text or instructions, a part of the
// text, and the voice's speech. A part is a segment.
#pragma once

#include "families/cosyvoice2/frontend.h"
#include "families/cosyvoice2/voices.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::cosyvoice2 {

/// Tables of the rows; a row is one entry of one table.
enum class Table : int32_t { kText, kControl, kSpeech };
inline constexpr int kTables = 3;

/// Returns the tables, bounds and sampling of the language model.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request with voice `voice`. If `voice` is an Error, returns that Error.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Frontend& frontend,
                                                Result<std::shared_ptr<const Voice>> voice,
                                                const SpeechRequest& request);

}  // namespace syrinx::cosyvoice2
