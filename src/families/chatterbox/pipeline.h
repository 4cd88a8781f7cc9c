// Chatterbox as a pipeline: the language model, then flow and vocoder as chunk stages.
#pragma once

#include <memory>
#include <vector>

#include "families/chatterbox/cloning.h"
#include "families/chatterbox/config.h"
#include "families/chatterbox/multilingual.h"
#include "families/chatterbox/speech_lm.h"
#include "families/chatterbox/voice.h"
#include "families/family.h"
#include "families/s3/speaking.h"
#include "families/spoken/spoken_sequence.h"
#include "model/pipeline.h"

namespace syrinx::chatterbox {

class Chatterbox : public S3Pipeline<Voice> {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Chatterbox(const LoadSpec& spec, const Edition& edition = kEnglishEdition);

  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const CodecLm& lm() const { return *nets_.lm; }
  const VoiceRows& voice_rows() const { return *nets_.voice_rows; }
  /// Returns the voice of a request: a stored voice, or voice data that the request contains.
  Result<std::shared_ptr<const Voice>> voice(const SpeechRequest& request) const;

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<TextTokenizer> tokenizer_;
  std::unique_ptr<MultilingualText> multilingual_;  // null in the English edition
  // Weights of the language model. Its tables stay in the mapped file.
  std::unique_ptr<Weights> weights_;
  SpeechNets nets_;
  mutable Recent<Voice> moods_;  // voices whose degree of emotion was changed
};

/// Loads the English edition from spec.dir. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);
/// Loads the multilingual edition from spec.dir. Throws LoadError.
std::shared_ptr<const Pipeline> load_multilingual(const LoadSpec& spec);

}  // namespace syrinx::chatterbox
