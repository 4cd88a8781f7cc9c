// CSM: conversational speech, as a pipeline of the backbone with its depth decoder and Mimi.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "families/csm/config.h"
#include "families/family.h"
#include "families/spoken/spoken_pipeline.h"
#include "io/weights.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::csm {

inline constexpr int kMaxSpeaker = 999;

class Csm : public SpokenPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Csm(const LoadSpec& spec);

  const ModelConfig& config() const { return config_; }
  /// Returns the ids of a turn's text: kBegin, [speaker]text, kEnd. Control tokens in a client's
  /// text are read as plain text.
  std::vector<int32_t> turn(int speaker, std::string_view text) const;

 private:
  Result<std::unique_ptr<SpokenScript>> script(const SpeechRequest& request) const override;

  ModelConfig config_;
  std::unique_ptr<const Tokenizer> tokenizer_;
};

/// Returns the settings. Tables: that of the text, then those of the C codebooks.
SpokenModel spoken_model(const ModelConfig& config, const Defaults& defaults);

}  // namespace syrinx::csm
