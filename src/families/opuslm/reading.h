// What OpusLM makes of a text that it reads aloud: the prompt of a segment, the steps of its
// speech, in which code s of a frame comes s steps late (model/delay.h), and the end. S streams.
// Sources: espnet:espnet2/speechlm/core_lm/ar_delay.py, espnet/vllm:vllm/model_executor/models/
// opuslm.py.
#pragma once

#include "families/opuslm/prompter.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::opuslm {

/// Sampling and bounds are those of all speech, read or answered.
SpokenModel spoken_model(const ModelConfig& config);

/// The rules of its steps are those of all speech, too.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config, const Prompter& prompter,
                                                const SpeechRequest& request);

}  // namespace syrinx::opuslm
