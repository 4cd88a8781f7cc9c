// Chatterbox Turbo as a pipeline: the language model, then the distilled flow and the vocoder as
// chunk stages. Voices and encoders are Chatterbox's.
#pragma once

#include <memory>

#include "families/chatterbox/cloning.h"
#include "families/chatterbox_turbo/script.h"
#include "families/family.h"
#include "families/s3/flow_stage.h"
#include "families/s3/recent.h"
#include "families/s3/vocoder_stage.h"
#include "model/pipeline.h"

namespace syrinx::chatterbox_turbo {

class ChatterboxTurbo : public Pipeline {
 public:
  /// Throws LoadError.
  explicit ChatterboxTurbo(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;
  const VoiceEncoder* voice_encoder() const override { return cloning_.get(); }

  const ModelConfig& config() const { return config_; }
  const CodecLm& lm() const { return *nets_.lm; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const chatterbox::Voices& voices() const { return voices_; }

 private:
  void describe(const LoadSpec& spec);
  void prepare_voices(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Tokenizer> tokenizer_;
  // weights of the language model; its tables stay in the mapped file
  std::unique_ptr<Weights> weights_;
  SpeechNets nets_;
  std::unique_ptr<S3Flow> flow_;
  std::unique_ptr<Hift> hift_;
  chatterbox::Voices voices_;
  mutable Recent<Voice> recent_;
  std::unique_ptr<chatterbox::Cloning> cloning_;
  std::unique_ptr<S3FlowStage> flow_stage_;
  std::unique_ptr<S3VocoderStage> vocoder_stage_;
  Graph graph_;
  PipelineInfo info_;
};

/// The file that identifies a checkpoint.
inline constexpr const char* kMarker = "t3_turbo_v1.safetensors";

/// Loads a checkpoint from spec.dir. Throws LoadError.
std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::chatterbox_turbo
