// Reads a text aloud with OpusLM: the prompt of a segment, the steps of its speech, and its
// end. Code s of a frame comes s steps later (model/delay.h). S: streams. Sources:
// espnet:espnet2/speechlm/core_lm/ar_delay.py,
// espnet/vllm:vllm/model_executor/models/opuslm.py.
#pragma once

#include "families/opuslm/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::opuslm {

/// Returns the settings of all speech, both of texts that are read aloud and of answers.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request for reading aloud.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

}  // namespace syrinx::opuslm
