// Chatterbox as a pipeline: the language model, then flow and vocoder as chunk stages.
#pragma once

#include <memory>
#include <vector>

#include "families/chatterbox/cloning.h"
#include "families/chatterbox/config.h"
#include "families/chatterbox/multilingual.h"
#include "families/chatterbox/speech_lm.h"
#include "families/chatterbox/voice.h"
#include "families/s3/speaking.h"

namespace syrinx::chatterbox {

class Chatterbox : public S3Pipeline<Voice> {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Chatterbox(const LoadSpec& spec, const Edition& edition = kEnglishEdition);

  const ModelConfig& config() const { return config_; }
  const VoiceRows& voice_rows() const { return *nets_.voice_rows; }
  /// Returns the voice of a request: a stored voice, or voice data that the request contains.
  Result<std::shared_ptr<const Voice>> voice(const SpeechRequest& request) const;

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<TextTokenizer> tokenizer_;
  std::unique_ptr<MultilingualText> multilingual_;  // null in the English edition
  // Weights of the language model. Its tables stay in the mapped file.
  SpeechNets nets_;
  mutable Recent<Voice> moods_;  // voices whose degree of emotion was changed
};

/// Returns the settings. Tables: text, its positions, speech, its positions.
SpokenModel spoken_model(const ModelConfig& config);

}  // namespace syrinx::chatterbox
