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
#include "families/spoken/spoken_sequence.h"

namespace syrinx::cosyvoice2 {

class CosyVoice2 : public S3Pipeline<Voice> {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit CosyVoice2(const LoadSpec& spec, const Edition& edition = kSecondEdition);

  Result<Opened> open(const SpeechRequest& request) const override;
  /// Makes a voice from a CAM++ vector, which conditions the flow.
  Result<syrinx::Voice> voice_of_embedding(std::span<const float> embedding) const override;

  const ModelConfig& config() const { return config_; }
  const Frontend& frontend() const { return *frontend_; }
  const CodecLm& lm() const { return *lm_; }
  /// Returns the voice of a request: a stored voice, or voice data that the request contains.
  Result<std::shared_ptr<const Voice>> voice(const SpeechRequest& request) const;

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Frontend> frontend_;
  // Weights of the language model. Its tables stay in the mapped file.
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<CodecLm> lm_;
};

/// Loads a checkpoint from spec.dir. Throws LoadError.
inline std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<CosyVoice2>(spec);
}
/// Loads a checkpoint of Fun-CosyVoice3 from spec.dir. Throws LoadError.
inline std::shared_ptr<const Pipeline> load_third(const LoadSpec& spec) {
  return std::make_shared<CosyVoice2>(spec, kThirdEdition);
}

}  // namespace syrinx::cosyvoice2
