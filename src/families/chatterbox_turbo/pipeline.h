// Chatterbox Turbo as a pipeline: the language model, then the distilled flow and the vocoder as
// chunk stages. Its voices and encoders are those of Chatterbox.
#pragma once

#include <memory>

#include "families/chatterbox/cloning.h"
#include "families/chatterbox_turbo/script.h"
#include "families/s3/speaking.h"

namespace syrinx::chatterbox_turbo {

class ChatterboxTurbo : public S3Pipeline<chatterbox::Voice> {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit ChatterboxTurbo(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  void prepare_voices(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  // Weights of the language model. Its tables stay in the mapped file.
  SpeechNets nets_;
};

/// The file that identifies a checkpoint.
inline constexpr const char* kMarker = "t3_turbo_v1.safetensors";

}  // namespace syrinx::chatterbox_turbo
