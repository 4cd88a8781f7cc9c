// CSM's prompt for a request: the earlier turns (the voice's recording first), the previous
// segment, and the text to speak. A turn is its text, then its frames and an end frame.
#pragma once

#include "families/csm/frontend.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::csm {

/// Returns the settings. Tables: the table of text, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config, const Defaults& defaults);

/// Makes the script of a request. Returns an Error for a speaker, voice or turn that the model does
/// not support.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Frontend& frontend,
                                                const SpeechRequest& request);

}  // namespace syrinx::csm
