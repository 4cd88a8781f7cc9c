// Pocket TTS (Kyutai): a pipeline of a language model that yields latents, and the decoder of Mimi,
// which makes samples from them.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/pocket_tts/flow_lm.h"
#include "families/pocket_tts/text.h"
#include "families/pocket_tts/voice.h"
#include "io/weights.h"

namespace syrinx::pocket_tts {

/// A file that identifies a published directory, and the error if its yaml file is missing.
inline constexpr const char* kPublished = "embeddings/alba.safetensors";
inline constexpr const char* kNeeds =
    "Pocket TTS needs pocket_tts.yaml beside this file: copy the model's configuration from the "
    "Python package pocket-tts (for English pocket_tts/config/english.yaml)";

/// Makes samples from latents. A stream keeps the decoder's whole past. The first 5 ms of a stream
/// are faded in, as in the authors' code.
class LatentStage : public ChunkStage {
 public:
  LatentStage(const ModelConfig& config, const Weights& root, WeightType type);
  FrameType in() const override { return {Flow::kRows, static_cast<int>(config_.latent)}; }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(config_.decoder.hop())};
  }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  void move_to(Device device);
  Device device() const override { return decoder_.device(); }
  size_t bytes() const { return decoder_.bytes() + out_.bytes(); }

 private:
  ModelConfig config_;
  Tensor deviation_, mean_;  // [latent]
  PackedLinear out_;         // latent -> width of the decoder
  MimiLatentDecoder decoder_;
};

/// The loaded model.
class PocketTts : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit PocketTts(const LoadSpec& spec);
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const TextReader& reader() const { return *reader_; }
  const FlowLm& lm() const { return *lm_; }

 private:
  void load_voices(const LoadSpec& spec);
  void describe(const LoadSpec& spec);
  Result<std::shared_ptr<const VoiceRows>> voice_of(const RequestVoice& voice) const;

  ModelConfig config_;
  std::unique_ptr<TextReader> reader_;
  std::unique_ptr<FlowLm> lm_;
  std::unique_ptr<LatentStage> stage_;
  std::unique_ptr<VoiceFiles<VoiceRows>> files_;
};

}  // namespace syrinx::pocket_tts
