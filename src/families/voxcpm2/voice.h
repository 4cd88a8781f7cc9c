// Voices of recordings: a recording's latents, which the model uses as a reference of the voice's
// sound, as the beginning of the speech (continuation), or as both. Const after construction;
// thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "codec/audio_vae_encoder.h"
#include "families/voxcpm2/config.h"
#include "model/voice.h"

namespace syrinx::voxcpm2 {

/// Makes an encoder of voices. `load` loads its network when the first recording arrives.
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<AudioVaeEncoder>()> load);

/// Returns the largest number of positions that a voice and its words may have in a prompt.
int64_t most_voice_rows(const ModelConfig& config);

/// The patches of a voice, each [*, P * D]; one may be empty. `prompt` is speech to be continued.
struct VoicePatches {
  std::vector<float> reference, prompt;
};

/// Returns the patches of a voice, or an Error if they do not fit this model.
Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::voxcpm2
