// What Orpheus makes of a request: the prompt around "voice: text", tokens in turn from the blocks
// of a frame, and of those the codec's latent frames, each as soon as its codes are there. Source:
// Orpheus-TTS:orpheus_tts_pypi/orpheus_tts/engine_class.py.
#pragma once

#include "families/orpheus/config.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx::orpheus {

/// A step is one token, counted from ModelConfig::audio_begin().
SpokenModel spoken_model(const ModelConfig& config);

/// Refuses a voice that the model lacks.
Result<std::unique_ptr<SpokenScript>> script_of(const ModelConfig& config,
                                                const Tokenizer& tokenizer,
                                                const SpeechRequest& request);

}  // namespace syrinx::orpheus
