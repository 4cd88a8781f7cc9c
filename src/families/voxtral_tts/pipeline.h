// Voxtral TTS: a Mistral that chooses the first code of each frame, an acoustic transformer that
// makes the other codes by a flow, and Voxtral's codec. Voices are rows of the prompt.
#pragma once

#include <memory>
#include <vector>

#include "codec/voxtral_codec.h"
#include "families/family.h"
#include "families/loading/voice_files.h"
#include "families/spoken/spoken_pipeline.h"
#include "families/voxtral_tts/config.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::voxtral_tts {

/// The rows of a voice, [N, H].
using VoiceRows = std::vector<float>;

class VoxtralTts : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit VoxtralTts(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  void load_voices(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<VoiceFiles<VoiceRows>> files_;
};

/// Opens the tokenizer, tekken.json. Random weights need no file. Throws LoadError if it lacks a
/// control token of prompts, or has ids that the model lacks.
Tokenizer open_words(const LoadSpec& spec, const ModelConfig& config);

/// Returns the settings. Tables: that of the text, then those of the codes of a frame.
SpokenModel spoken_model(const ModelConfig& config);

/// Makes the script of a request that speaks with `voice`.
std::unique_ptr<SpokenScript> make_script(const ModelConfig& config, const Tokenizer& tokenizer,
                                          std::shared_ptr<const VoiceRows> voice);

}  // namespace syrinx::voxtral_tts
