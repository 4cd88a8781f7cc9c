// VoxCPM2, which speaks with latents, as a pipeline of its language models and its AudioVAE.
#pragma once

#include <memory>

#include "codec/audio_vae.h"
#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/voxcpm2/config.h"
#include "families/voxcpm2/latent_lm.h"
#include "families/voxcpm2/prompter.h"
#include "families/voxcpm2/voice.h"

namespace syrinx::voxcpm2 {

/// Turns patches into samples. The decoder keeps its whole past, so the stage needs no left context
/// and no lookahead. If the speech continues a recording, the recording's last patches are decoded
/// first, and their samples are dropped.
class VaeStage : public ChunkStage {
 public:
  VaeStage(const ModelConfig& config, const AudioVaeDecoder& vae) : config_(config), vae_(vae) {}
  Device device() const override { return vae_.device(); }
  FrameType in() const override { return {Flow::kRows, static_cast<int>(config_.patch_width())}; }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(config_.patch_samples())};
  }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

 private:
  void hear_contexts(StepContext& ctx, std::span<const ChunkJob> jobs) const;

  const ModelConfig& config_;
  const AudioVaeDecoder& vae_;
};

/// The loaded model.
class VoxCpm2 : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit VoxCpm2(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const LatentLm& lm() const { return *lm_; }
  const AudioVaeDecoder& vae() const { return *vae_; }

 private:
  void load_vae(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> vae_weights_;  // kept, because the encoder of recordings is loaded later
  std::unique_ptr<LatentLm> lm_;
  std::unique_ptr<AudioVaeDecoder> vae_;
  std::unique_ptr<VaeStage> stage_;
};

}  // namespace syrinx::voxcpm2
