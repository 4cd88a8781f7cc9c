// Recognisers by NVIDIA in transformers' layout. Nemotron speech streaming (a cache-aware
// FastConformer with an RNN-T) writes words of a recording while its samples arrive. Parakeet (a
// FastConformer with a TDT or RNN-T) processes a recording as a whole. Graph: the client's samples
// -> encoder -> rows -> joint network -> text. Each recording is one request.
#pragma once

#include <memory>
#include <optional>

#include "families/family.h"
#include "families/loading/loaded_pipeline.h"
#include "families/transducer/hearing_stage.h"
#include "families/transducer/joint_stage.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::transducer {

class Transducer : public LoadedPipeline {
 public:
  /// Loads the checkpoint of `spec`. Throws LoadError.
  explicit Transducer(const LoadSpec& spec);

  /// Opens a request whose task is a Hearing.
  Result<Opened> open(const SpeechRequest& request) const override;
  Result<SpeechRequest> listening(const OpenDictation& listening) const override;
  Result<SpeechRequest> dictation(const Dictation& dictation) const override;

  const ModelConfig& config() const { return config_; }
  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const HearingStage& encoder() const { return *encoder_; }

 private:
  void check_vocabulary(const LoadSpec& spec) const;
  void describe(const LoadSpec& spec);

  ModelConfig config_;
  std::optional<Tokenizer> tokenizer_;
  std::unique_ptr<HearingStage> encoder_;
  std::unique_ptr<JointStage> joint_;
};

}  // namespace syrinx::transducer
