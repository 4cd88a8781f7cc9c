// Orpheus: published checkpoints as a pipeline of the language model and SNAC.
#pragma once

#include <memory>
#include <vector>

#include "codec/snac.h"
#include "families/dac_stage.h"
#include "families/family.h"
#include "families/orpheus/config.h"
#include "families/spoken/codec_lm.h"
#include "families/spoken/spoken_sequence.h"
#include "model/pipeline.h"

namespace syrinx::orpheus {

class Orpheus : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Orpheus(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const CodecLm& lm() const { return *lm_; }
  const DacCodec& codec() const { return *codec_; }

 private:
  void load_codec(const LoadSpec& spec);
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  SpokenModel spoken_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Weights> weights_;  // kept: the table is read from the mapped file
  std::unique_ptr<CodecLm> lm_;
  std::unique_ptr<DacCodec> codec_;
  std::unique_ptr<DacStage> stage_;
  Graph graph_;
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::orpheus
