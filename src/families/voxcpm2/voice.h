// Voices of recordings: a recording's latents, which the model takes as what a voice is like
// (reference), goes on from (continuation), or both. Const after construction; thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "codec/audio_vae_encoder.h"
#include "families/voxcpm2/config.h"
#include "model/voice.h"

namespace syrinx::voxcpm2 {

/// Makes voices of recordings; `load` loads the encoder with the first one.
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<AudioVaeEncoder>()> load);

/// Positions of a prompt that a voice and its words may take.
int64_t most_voice_rows(const ModelConfig& config);

/// [*, P * D] each, at least one of them not empty.
struct VoicePatches {
  std::vector<float> reference, prompt;
};

/// The patches of a voice, or why it does not fit this model.
Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::voxcpm2
