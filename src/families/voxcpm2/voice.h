// Voices of recordings: a recording's latents, which the model uses for the sound of a voice
// (reference), as the beginning of the speech (continuation), or for both. Const after
// construction; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "codec/audio_vae_encoder.h"
#include "families/voxcpm2/config.h"
#include "model/voice.h"

namespace syrinx::voxcpm2 {

/// Makes voices of recordings; `load` loads the encoder when the first recording comes.
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<AudioVaeEncoder>()> load);

/// Returns the largest number of positions of a prompt that a voice and its words may take.
int64_t most_voice_rows(const ModelConfig& config);

/// The patches of a voice, [*, P * D] each; at least one of the two is not empty.
struct VoicePatches {
  std::vector<float> reference, prompt;
};

/// Returns the patches of a voice, or an error if it does not fit this model.
Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::voxcpm2
