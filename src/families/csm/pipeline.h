// CSM: conversational speech, as a pipeline of the backbone with its depth decoder and Mimi.
#pragma once

#include <memory>

#include "codec/mimi.h"
#include "families/csm/config.h"
#include "families/csm/frontend.h"
#include "families/family.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"

namespace syrinx::csm {

class Csm : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Csm(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  const Frontend& frontend() const { return *frontend_; }

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;

  ModelConfig config_;
  std::unique_ptr<Frontend> frontend_;
  std::unique_ptr<MimiDecoder> codec_;
};

/// Returns the settings. Tables: that of the text, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config, const Defaults& defaults);

}  // namespace syrinx::csm
