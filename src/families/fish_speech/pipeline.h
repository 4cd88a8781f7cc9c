// Fish Speech S2, which speaks with the voices of references, as a pipeline of its two networks and
// its codec.
#pragma once

#include <memory>

#include "codec/fish_codec.h"
#include "families/family.h"
#include "families/fish_speech/config.h"
#include "families/fish_speech/prompter.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"

namespace syrinx::fish_speech {

class FishSpeech : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit FishSpeech(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;
  std::unique_ptr<FishCodec> load_codec(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> codec_weights_;  // kept for tables, and for the encoder
};

inline constexpr int64_t kMostPast = 2048;  ///< most rows of earlier messages: a minute and a half

/// Returns the settings. Tables: the table of ids, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config);

}  // namespace syrinx::fish_speech
