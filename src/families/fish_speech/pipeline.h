// Fish Speech S2: speech in the voice of references, as a pipeline of its two networks and its
// codec.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "codec/fish_codec.h"
#include "codec/fish_encoder.h"
#include "families/codec_stage.h"
#include "families/family.h"
#include "families/fish_speech/config.h"
#include "families/fish_speech/dual_ar.h"
#include "families/fish_speech/prompter.h"
#include "families/spoken/spoken_sequence.h"
#include "model/pipeline.h"

namespace syrinx::fish_speech {

/// The codec keeps all of its past, so the link has neither left context nor lookahead.
using FishStage = CodecStage<FishCodec, FishCodecJob>;

/// The loaded model.
class FishSpeech : public Pipeline {
 public:
  /// Throws LoadError.
  explicit FishSpeech(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;
  const VoiceEncoder* voice_encoder() const override { return voices_.get(); }

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const CodecLm& dual_ar() const { return *dual_ar_; }
  const FishCodec& codec() const { return *codec_; }
  /// The first call loads it; throws LoadError where the checkpoint has none.
  const FishEncoder& encoder() const;

 private:
  void load_codec(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> weights_, codec_weights_;  // kept: tables, and what is loaded later
  std::unique_ptr<CodecLm> dual_ar_;
  std::unique_ptr<FishCodec> codec_;
  mutable std::once_flag encoder_once_;
  mutable std::unique_ptr<FishEncoder> encoder_;
  std::unique_ptr<FishStage> stage_;
  Graph graph_;
  std::unique_ptr<VoiceEncoder> voices_;  // null where the checkpoint has no encoder
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::fish_speech
