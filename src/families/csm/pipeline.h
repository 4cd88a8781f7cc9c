// CSM: conversational speech, as a pipeline of the backbone with its depth decoder and Mimi.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "codec/mimi.h"
#include "codec/mimi_encoder.h"
#include "families/codec_stage.h"
#include "families/csm/backbone.h"
#include "families/csm/config.h"
#include "families/csm/frontend.h"
#include "families/family.h"
#include "families/spoken/spoken_sequence.h"
#include "model/pipeline.h"

namespace syrinx::csm {

/// The codec keeps all of its past, so the link has neither left context nor lookahead.
using MimiStage = CodecStage<MimiDecoder, MimiJob>;

/// The loaded model.
class Csm : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Csm(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;

  const VoiceEncoder* voice_encoder() const override { return voices_.get(); }

  /// Frames [T, C] of a recording, mono at info().sample_rate: what ContextTurn::codes holds. Any
  /// thread. Throws LoadError when the checkpoint lacks the encoder.
  std::vector<int32_t> encode(std::span<const float> samples) const;

  const ModelConfig& config() const { return config_; }
  const Frontend& frontend() const { return *frontend_; }
  const CodecLm& backbone() const { return *backbone_; }
  const MimiDecoder& codec() const { return *codec_; }

 private:
  void describe(const LoadSpec& spec);
  /// The first call loads it.
  const MimiEncoder& codec_encoder() const;

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Frontend> frontend_;
  std::unique_ptr<Weights> weights_;  // kept: the tables are read from the mapped file
  std::unique_ptr<CodecLm> backbone_;
  std::unique_ptr<MimiDecoder> codec_;
  mutable std::once_flag encoder_once_;
  mutable std::unique_ptr<MimiEncoder> encoder_;
  std::unique_ptr<MimiStage> stage_;
  Graph graph_;
  std::unique_ptr<VoiceEncoder> voices_;  // null where the checkpoint has no encoder
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::csm
