// Voices of recordings: a recording's latents, which the model takes as what a voice is like
// (reference), goes on from (continuation), or both. Const after construction; thread-safe.
#pragma once

#include <functional>
#include <vector>

#include "codec/audio_vae_encoder.h"
#include "families/voxcpm2/config.h"
#include "model/voice.h"

namespace syrinx::voxcpm2 {

class Voices : public VoiceEncoder {
 public:
  /// `codec` is asked when a recording is opened; it may load what it gives.
  Voices(const ModelConfig& config, std::function<const AudioVaeEncoder&()> codec)
      : config_(config), codec_(std::move(codec)) {}

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  ModelConfig config_;
  std::function<const AudioVaeEncoder&()> codec_;
  // The authors: the likest voice comes of one recording used in both ways.
  VoiceEncoderInfo info_ = {
      .family = "voxcpm2",
      .version = "2",
      .modes = {{"reference+continuation", true}, {"continuation", true}, {"reference", false}},
      .min_s = 1,
      .max_s = 60};
};

/// [*, P * D] each, at least one of them not empty.
struct VoicePatches {
  std::vector<float> reference, prompt;
};

/// The patches of a voice, or why it is none for this model.
Result<VoicePatches> voice_patches(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::voxcpm2
