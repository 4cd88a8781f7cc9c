// Text models: Llama-3.x, Qwen2.5 and Qwen3 as published, as the smallest pipeline there is: one AR
// node, whose text the client reads.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/llm/answer.h"
#include "families/llm/config.h"
#include "families/llm/language_model.h"
#include "families/llm/prompter.h"
#include "model/pipeline.h"

namespace syrinx::llm {

class Llm : public Pipeline {
 public:
  /// Throws LoadError.
  explicit Llm(const LoadSpec& spec);

  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Generation& generation() const { return generation_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  Generation generation_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<Weights> weights_;  // kept: the table is read from the mapped file
  std::unique_ptr<LanguageModel> lm_;
  Graph graph_;
  PipelineInfo info_;
};

std::shared_ptr<const Pipeline> load(const LoadSpec& spec);

}  // namespace syrinx::llm
