// Zonos-v0.1 transformer: published checkpoints as a pipeline of the language model and DAC.
#pragma once

#include <memory>

#include "codec/dac.h"
#include "families/family.h"
#include "families/spoken/spoken_pipeline.h"
#include "families/zonos/conditioner.h"
#include "families/zonos/config.h"
#include "families/zonos/phonemes.h"
#include "families/zonos/voice.h"

namespace syrinx::zonos {

class Zonos : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Zonos(const LoadSpec& spec, Phonemize phonemize = espeak_phonemes);

  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override;

  const ModelConfig& config() const { return config_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  void load_speakers(const LoadSpec& spec);
  void find_speaker_encoder(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<PrefixConditioner> conditioner_;
  Phonemize phonemize_;
  Speakers speakers_;
  int64_t speaker_width_ = 0;  // 0: the model takes no speaker
};

/// Returns the settings. Table 0 is that of symbols, table k + 1 that of codebook k.
SpokenModel spoken_model(const ModelConfig& config);

}  // namespace syrinx::zonos
