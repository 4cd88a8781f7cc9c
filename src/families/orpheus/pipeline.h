// Orpheus: a Llama that speaks tokens of SNAC. The prompt is written around "voice: text", tokens
// come in turn from the blocks of a frame, and the codec's latent frames are made of them as soon
// as their codes are there. Source: Orpheus-TTS:orpheus_tts_pypi/orpheus_tts/engine_class.py.
#pragma once

#include <memory>

#include "codec/snac.h"
#include "families/family.h"
#include "families/orpheus/config.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"

namespace syrinx::orpheus {

class Orpheus : public SpokenPipeline {
 public:
  /// Throws LoadError.
  explicit Orpheus(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;

  ModelConfig config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Weights> weights_;  // kept: the table is read from the mapped file
  std::unique_ptr<DacCodec> codec_;
};

/// A step is one token, counted from ModelConfig::audio_begin().
SpokenModel spoken_model(const ModelConfig& config);
/// Opens a request in that voice. The arguments must outlive the sequence.
std::unique_ptr<SpokenScript> script_of(const ModelConfig& config, const Tokenizer& tokenizer,
                                        const std::string& voice, bool ignore_stop);

/// Loads a checkpoint from spec.dir. Throws LoadError.
inline std::shared_ptr<const Pipeline> load(const LoadSpec& spec) {
  return std::make_shared<Orpheus>(spec);
}

}  // namespace syrinx::orpheus
