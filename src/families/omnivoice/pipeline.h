// OmniVoice (k2-fsa): speech in 646 languages, a canvas of masks at a time, with voices of
// recordings or of named attributes. A Qwen3 decoder with full attention, and the codec of Higgs
// Audio v2.
#pragma once

#include <memory>

#include "codec/dac_codec.h"
#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/omnivoice/canvas_lm.h"
#include "families/omnivoice/speech_stage.h"
#include "families/omnivoice/text.h"
#include "io/weights.h"

namespace syrinx::omnivoice {

class OmniVoice : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit OmniVoice(const LoadSpec& spec);
  Result<Opened> open(const SpeechRequest& request) const override;

  const ModelConfig& config() const { return config_; }
  const Prompter& prompter() const { return *prompter_; }
  const CanvasLm& lm() const { return *lm_; }

 private:
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::unique_ptr<Prompter> prompter_;
  // Kept for the tables, and for the encoder, which is loaded with the first recording.
  std::unique_ptr<Weights> weights_, codec_weights_;
  std::unique_ptr<CanvasLm> lm_;
  std::unique_ptr<CanvasStage> canvas_;
  std::unique_ptr<SpeechStage> speech_;
};

}  // namespace syrinx::omnivoice
