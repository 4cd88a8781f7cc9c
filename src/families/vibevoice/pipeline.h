// VibeVoice-Realtime-0.5B (Microsoft): a pipeline of its language models, which yield latents, and
// the decoder of its acoustic tokenizer, which makes samples from latents.
#pragma once

#include <memory>

#include "codec/sigma_vae.h"
#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/vibevoice/speech_lm.h"
#include "families/vibevoice/voice.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::vibevoice {

/// Makes samples from latents. A stream keeps the decoder's whole past.
class VaeStage : public ChunkStage {
 public:
  /// Loads the decoder. `model`: the scope "model.".
  VaeStage(const ModelConfig& config, const Weights& model, WeightType type);
  FrameType in() const override { return {Flow::kRows, static_cast<int>(config_.latent())}; }
  FrameType out() const override { return {Flow::kSamples, static_cast<int>(config_.vae.hop())}; }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  void move_to(Device device) { decoder_.move_to(device); }
  Device device() const override { return decoder_.device(); }
  size_t bytes() const { return decoder_.bytes(); }

 private:
  ModelConfig config_;
  float factor_ = 1, bias_ = 0;  // the models' latents are (latent + bias) * factor
  SigmaVaeDecoder decoder_;
};

/// The loaded model.
class VibeVoice : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit VibeVoice(const LoadSpec& spec);
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  void load_voices(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<SpeechLm> lm_;
  std::unique_ptr<VaeStage> stage_;
  std::unique_ptr<VoiceFiles<VoiceRows>> files_;
};

}  // namespace syrinx::vibevoice
