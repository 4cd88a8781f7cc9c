// OpusLM and OpusLM-Dialogue: texts read aloud, conversations answered in words and by voice,
// recordings (given as codes) written down; as a pipeline of one language model, which gives its
// client text and its codec codes, and that codec.
#pragma once

#include <memory>

#include "codec/espnet_codec.h"
#include "families/family.h"
#include "families/opuslm/codec_stage.h"
#include "families/opuslm/config.h"
#include "families/opuslm/prompter.h"
#include "families/opuslm/speech_lm.h"
#include "model/pipeline.h"

namespace syrinx::opuslm {

class OpusLm : public Pipeline {
 public:
  /// Throws LoadError.
  explicit OpusLm(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const StreamLm& lm() const { return *lm_; }
  const EspnetCodec& codec() const { return *codec_; }

 private:
  void load_codec(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> weights_;  // the table is read in place
  std::unique_ptr<StreamLm> lm_;
  std::unique_ptr<EspnetCodec> codec_;
  std::unique_ptr<CodecStage> stage_;
  Graph graph_;
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::opuslm
