// Voices of recordings: a recording's frames, which the model hears with its words as a reference.
// Const after construction; thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codec/fish_encoder.h"
#include "families/fish_speech/config.h"
#include "model/voice.h"

namespace syrinx::fish_speech {

class FishVoices : public VoiceEncoder {
 public:
  /// `codec` is asked when a recording is opened; it may load what it gives.
  explicit FishVoices(std::function<const FishEncoder&()> codec) : codec_(std::move(codec)) {}

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  std::function<const FishEncoder&()> codec_;
  VoiceEncoderInfo info_ = {.family = "fish_speech",
                            .version = "1",
                            .modes = {{"in-context", true}},
                            .min_s = 1,
                            .max_s = 60};
};

/// The frames [T, C] of a voice, or why it is none for this model.
Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice);

}  // namespace syrinx::fish_speech
