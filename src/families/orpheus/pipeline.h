// Orpheus: a Llama that speaks with tokens of SNAC. The edition defines the prompt around a voice
// and a text (editions.h). Each token of a frame comes from its own block of ids. The codec's
// latent frames are made as soon as their codes are complete. Source:
// Orpheus-TTS:orpheus_tts_pypi/orpheus_tts/engine_class.py.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/orpheus/config.h"
#include "families/orpheus/editions.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"

namespace syrinx::orpheus {

inline constexpr const char* kNoVoice = "none";  ///< the voice of texts without a voice's name

class Orpheus : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Orpheus(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Edition& edition() const { return *edition_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;

  ModelConfig config_;
  const Edition* edition_ = nullptr;
  std::unique_ptr<Tokenizer> tokenizer_;
};

/// Returns the settings. A step is one token; tokens are counted from ModelConfig::end_of_speech.
SpokenModel spoken_model(const ModelConfig& config, const Edition& edition);

}  // namespace syrinx::orpheus
