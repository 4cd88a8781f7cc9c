// Voices of recordings: a recording's latents, which the model takes as what a voice is like
// (reference), goes on from (continuation), or both. Const after construction; thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "codec/audio_vae_encoder.h"
#include "families/voxcpm2/config.h"
#include "model/voice.h"

namespace syrinx::voxcpm2 {

/// Makes voices of recordings.
class Voices : public VoiceEncoder {
 public:
  /// `codec` is asked when a recording is opened; it may load what it gives.
  Voices(const ModelConfig& config, std::function<const AudioVaeEncoder&()> codec);

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  ModelConfig config_;
  std::function<const AudioVaeEncoder&()> codec_;
  VoiceEncoderInfo info_;
};

/// Positions of a prompt that a voice and its words may take.
int64_t most_voice_rows(const ModelConfig& config);

/// [*, P * D] each, at least one of them not empty.
struct VoicePatches {
  std::vector<float> reference, prompt;
};

/// The patches of a voice, or why it is none for this model.
Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::voxcpm2
