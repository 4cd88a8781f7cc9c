// Higgs Audio v3: expressive speech, directed by tags in the text, in a voice that the model makes
// up or hears, as a pipeline of a language model and the X-Codec bundled with it.
#pragma once

#include <memory>

#include "codec/xcodec.h"
#include "families/dac_stage.h"
#include "families/family.h"
#include "families/higgs/config.h"
#include "families/higgs/prompter.h"
#include "families/higgs/voice.h"
#include "families/spoken/codec_lm.h"
#include "families/spoken/spoken_sequence.h"
#include "model/pipeline.h"

namespace syrinx::higgs {

class Higgs : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Higgs(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;
  const VoiceEncoder* voice_encoder() const override { return voices_.get(); }

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const CodecLm& lm() const { return *lm_; }
  const DacCodec& codec() const { return *codec_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> weights_;  // the tables are read in place
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<DacCodec> codec_;
  std::unique_ptr<DacStage> stage_;
  std::unique_ptr<VoiceMaker> voices_;  // null: the checkpoint has no encoder
  Graph graph_;
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::higgs
