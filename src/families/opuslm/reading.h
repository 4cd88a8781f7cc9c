// How OpusLM reads a text aloud: the prompt of a segment, the steps of its speech, in which code s
// of a frame is s steps later (model/delay.h), and the end. S streams.
// Sources: espnet:espnet2/speechlm/core_lm/ar_delay.py,
// espnet/vllm:vllm/model_executor/models/opuslm.py.
#pragma once

#include "families/opuslm/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::opuslm {

/// Sampling and bounds hold for all speech, texts read aloud and answers.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request, whose rules hold for all speech, too.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

}  // namespace syrinx::opuslm
