// Text models (architectures.h has the kinds) as the smallest possible pipeline: one AR node, whose
// text is sent to the client.
#pragma once

#include <memory>

#include "families/family.h"
#include "families/llm/answer.h"
#include "families/llm/config.h"
#include "families/llm/language_model.h"
#include "families/llm/prompter.h"
#include "families/loading/loaded_pipeline.h"

namespace syrinx::llm {

class Llm : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Llm(const LoadSpec& spec);

  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Generation& generation() const { return generation_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  Generation generation_;
  std::unique_ptr<Prompter> prompter_;
  std::unique_ptr<CodecLm> lm_;
};

}  // namespace syrinx::llm
