// CosyVoice2 and Fun-CosyVoice3 (Edition) as a pipeline: the language model, then flow and vocoder
// as chunk stages.
#pragma once

#include <memory>
#include <vector>

#include "families/cosyvoice2/cloning.h"
#include "families/cosyvoice2/config.h"
#include "families/cosyvoice2/frontend.h"
#include "families/cosyvoice2/speech_lm.h"
#include "families/cosyvoice2/voices.h"
#include "families/s3/speaking.h"

namespace syrinx::cosyvoice2 {

class CosyVoice2 : public S3Pipeline<Voice> {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit CosyVoice2(const LoadSpec& spec, const Edition& edition = kSecondEdition);

  /// Makes a voice from a CAM++ vector, which conditions the flow.
  Result<syrinx::Voice> voice_of_embedding(std::span<const float> embedding) const override;

  const ModelConfig& config() const { return config_; }
  const Frontend& frontend() const { return *frontend_; }
  /// Returns the voice of a request: a stored voice, or voice data of the request.
  Result<std::shared_ptr<const Voice>> voice(const SpeechRequest& request) const;

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Frontend> frontend_;
  // Weights of the language model. Its tables stay in the mapped file.
};

/// Returns tables (text, control, speech), bounds and sampling of the language model.
SpokenModel spoken_model(const ModelConfig& config);

}  // namespace syrinx::cosyvoice2
